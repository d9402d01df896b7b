#include "engine/model/path_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

namespace engine {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST(PathText, APathThatPeopleTypeIsShownWhole) {
  const std::string path = "/home/user/" + std::string(300, 'a') + "/run.session";
  EXPECT_EQ(shown_path(path), path);
}

TEST(PathText, ALongPathIsShownByItsEndsWithWholeCharacters) {
  for (int shift = 0; shift < 4; ++shift) {
    std::string path = "/start/" + std::string(static_cast<std::size_t>(shift), 'a');
    for (int i = 0; i < 1000; ++i) path += "é";
    const std::string shown = shown_path(path + "/run.session");
    EXPECT_THAT(shown, StartsWith("/start/"));
    EXPECT_THAT(shown, EndsWith("é/run.session"));
    EXPECT_THAT(shown, HasSubstr("é…é"));
    EXPECT_THAT(shown, SizeIs(::testing::Lt(140)));
  }
}

TEST(PathText, ThatAPathIsTooLongNamesItsLengthsAndTheirLimits) {
  EXPECT_THAT(path_error_text("/tmp/" + std::string(300, 'a') + "/x.npy", ENAMETOOLONG),
              HasSubstr("it has 311 bytes (at most 4095) and its longest name 300 (at most 255)"));
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "/abcd";
  EXPECT_THAT(path_error_text(deep, ENAMETOOLONG),
              HasSubstr("it has 5000 bytes (at most 4095) and its longest name 4 (at most 255)"));
  EXPECT_THAT(path_error_text("/tmp/" + std::string(250, 'a'), ENAMETOOLONG),
              HasSubstr("its longest name 250"));
  EXPECT_EQ(path_error_text("/tmp/x", EACCES), "Permission denied");
}

}  // namespace
}  // namespace engine

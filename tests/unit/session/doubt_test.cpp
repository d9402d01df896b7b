// What is said of a recording that was not closed leads to its runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "profiling/session/session_file.h"
#include "tests/unit/session/sample_recording.h"

namespace profiling {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

/// As a killed program leaves it: with its log.
class UnclosedRecording : public testing::Test {
 protected:
  void SetUp() override {
    auto writer = SessionWriter::create(live_.file("a.session"));
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    ASSERT_TRUE(writer.value()->append(sample_run(0)).ok());
    for (const char* suffix : {"", "-wal"}) {
      fs::copy_file(live_.file("a.session") + suffix, path_ + suffix);
    }
  }
  static std::string doubt(const std::string& path) {
    const auto session = open_session(path);
    return session.ok() ? session.value().doubt : session.error().message;
  }

  const ScratchFolder live_;
  const ScratchFolder folder_;
  const std::string path_ = folder_.file("a.session");
};

TEST_F(UnclosedRecording, UnderTwoNamesSaysWhatHelpsUnderEach) {
  EXPECT_EQ(doubt(path_), "");
  const std::string link = folder_.file("link");
  fs::create_hard_link(path_, link);
  EXPECT_THAT(doubt(link), HasSubstr("Open it by the name under which it was recorded"));
  // That name has the log beside it, so the advice is another: following it leaves no doubt.
  EXPECT_THAT(doubt(path_),
              AllOf(HasSubstr("copy both files together"), Not(HasSubstr("Open it by the name"))));
  const ScratchFolder elsewhere;
  for (const char* suffix : {"", "-wal"}) {
    fs::copy_file(path_ + suffix, elsewhere.file("a.session") + suffix);
  }
  EXPECT_EQ(doubt(elsewhere.file("a.session")), "");
  fs::remove(link);
  EXPECT_EQ(doubt(path_), "");
}

TEST_F(UnclosedRecording, WithoutItsLogNamesTheRecordingThatGoesOnForIt) {
  fs::remove(path_ + "-wal");
  EXPECT_THAT(doubt(path_), AllOf(HasSubstr("its log a.session-wal is missing"),
                                  EndsWith("Copy both files together.")));
  std::ofstream(folder_.file("a-2.session")) << "x";
  EXPECT_THAT(doubt(path_), HasSubstr("a-2.session beside it may have all of them"));
}

}  // namespace
}  // namespace profiling

// What the window lists is what lies in assets/sessions, and stays small enough for a clone.
#include "app/protocol/shipped_recordings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace app {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMaxBytes = 10'000'000;  // of one
constexpr std::uintmax_t kMaxBytesTogether = 12'000'000;

const fs::path kFolder = EXPERTSCOPE_SOURCE "/assets/sessions";

TEST(ShippedRecordings, EveryOneIsListedOnceWithWhatItShows) {
  std::vector<std::string> there;
  for (const fs::directory_entry& file : fs::directory_iterator(kFolder)) {
    there.push_back(file.path().filename().string());
  }
  std::vector<std::string> listed;
  for (const ShippedRecording& one : kShippedRecordings) {
    listed.emplace_back(one.file);
    EXPECT_GT(one.shows.size(), 20U) << one.file;
    EXPECT_LT(one.shows.size(), 100U) << one.file << ": a menu has room for one line";
  }
  EXPECT_THAT(listed, ::testing::UnorderedElementsAreArray(there));
}

TEST(ShippedRecordings, AreSmallEnoughToShip) {
  std::uintmax_t bytes = 0;
  for (const fs::directory_entry& file : fs::directory_iterator(kFolder)) {
    EXPECT_LE(file.file_size(), kMaxBytes) << file.path();
    bytes += file.file_size();
  }
  EXPECT_LE(bytes, kMaxBytesTogether);
}

}  // namespace
}  // namespace app

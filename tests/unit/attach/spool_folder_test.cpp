// A hang that a folder of spools is watched for, on a clock of the test's own.
#include "app/attach/spool_folder.h"

#include <gmock/gmock.h>

#include <cstddef>
#include <filesystem>

#include "tests/support/hand_made_spool.h"

namespace app {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
namespace spool = profiling::spool;

constexpr std::uint64_t kSecond = 1'000'000'000;

class SpoolFolderWatch : public testing::Test {
 protected:
  SpoolFolderWatch() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    constexpr std::size_t kWait = offsetof(spool::FileHeader, waits);
    spool_.set<std::uint32_t>(kWait + offsetof(spool::Wait, thread), 12);
    spool_.set<std::uint64_t>(kWait + offsetof(spool::Wait, since), 100 * kSecond);
    spool_.write(folder_ + "/1234-1.spool");
  }
  ProcessMachine machine(bool takes_core_dumps) {
    return {.now = [this] { return now_; },
            .device = [](const std::string&) { return std::string(); },
            .takes_core_dumps = takes_core_dumps};
  }
  static profiling::Stall looked_at(SpoolFolder& spools) {
    EXPECT_TRUE(spools.follow(false).ok());
    EXPECT_TRUE(spools.watch_for_hangs({.after_seconds = 1}));
    return spools.reports({}).at(0).experiments.at(0).outcome.stall.at(0);
  }

  const std::string folder_ = testing::TempDir() + "/spool_folder_test";
  profiling::HandMadeSpool spool_;
  std::uint64_t now_ = 120 * kSecond;
};

TEST_F(SpoolFolderWatch, TheRecordOfAHangIsMadeAgainForNewFramesAndOnceASecond) {
  SpoolFolder spools(folder_, machine(false));
  EXPECT_DOUBLE_EQ(looked_at(spools).waited_seconds, 20);
  now_ += kSecond / 2;
  EXPECT_DOUBLE_EQ(looked_at(spools).waited_seconds, 20);
  now_ += kSecond / 2;
  EXPECT_DOUBLE_EQ(looked_at(spools).waited_seconds, 21);
  now_ += kSecond / 4;
  EXPECT_DOUBLE_EQ(looked_at(spools).waited_seconds, 21);
  spool_.add(spool::ModuleUnloaded{.module = 1});
  spool_.write(folder_ + "/1234-1.spool");
  EXPECT_DOUBLE_EQ(looked_at(spools).waited_seconds, 21.25);
}

TEST_F(SpoolFolderWatch, ACoreDumpIsAdvisedWhereItCanBeTaken) {
  SpoolFolder here(folder_, machine(true));
  EXPECT_THAT(looked_at(here).not_asked_for, Contains(profiling::HangDetail::CoreDump));
  SpoolFolder elsewhere(folder_, machine(false));
  EXPECT_THAT(looked_at(elsewhere).not_asked_for, Not(Contains(profiling::HangDetail::CoreDump)));
}

TEST_F(SpoolFolderWatch, AHangIsKeptForWhoReadsTheFolderLater) {
  ProcessMachine busy = machine(true);
  busy.device = [](const std::string&) { return std::string("NVML: busy 100 %"); };
  SpoolFolder watched(folder_, busy);
  const profiling::Stall found = looked_at(watched);
  EXPECT_THAT(found.evidence, HasSubstr("NVML: busy 100 %"));
  now_ += 7 * kSecond;
  SpoolFolder later(folder_, machine(false));
  ASSERT_TRUE(later.follow(true).ok());
  EXPECT_THAT(later.reports({}), IsEmpty());
  later.recall_hangs();
  EXPECT_EQ(later.reports({}).at(0).experiments.at(0).outcome.stall.at(0), found);
}

TEST_F(SpoolFolderWatch, AWaitThatReturnedIsNoHangLater) {
  SpoolFolder watched(folder_, machine(true));
  looked_at(watched);
  constexpr std::size_t kSince = offsetof(spool::FileHeader, waits) + offsetof(spool::Wait, since);
  spool_.set<std::uint64_t>(kSince, 0);
  spool_.write(folder_ + "/1234-1.spool");
  SpoolFolder later(folder_, machine(false));
  ASSERT_TRUE(later.follow(true).ok());
  later.recall_hangs();
  EXPECT_THAT(later.reports({}), IsEmpty());
}

}  // namespace
}  // namespace app

// The doctor's desk: the rules' findings for one run are never shown for another.
#include "app/gui/shell/doctor_desk.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace app {
namespace {

constexpr std::chrono::seconds kLimit{20};

std::shared_ptr<const profiling::RecordedRun> run(std::size_t graphs) {
  auto made = std::make_shared<profiling::RecordedRun>();
  made->snapshot.graphs.resize(graphs);
  return made;
}

class DoctorDeskTest : public testing::Test {
 protected:
  /// Ticks until the background threads have woken the window `count` times.
  void wait_for_wakes(int count) {
    const auto deadline = std::chrono::steady_clock::now() + kLimit;
    while (wakes_ < count && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ASSERT_GE(wakes_, count);
    desk_.tick();
  }

  std::atomic<int> wakes_ = 0;
  DoctorDesk desk_{[this] { ++wakes_; }};
};

TEST_F(DoctorDeskTest, ReportsTheRunOnScreen) {
  desk_.examine(run(1));
  wait_for_wakes(1);
  EXPECT_NE(desk_.news().run_report, nullptr);
}

TEST_F(DoctorDeskTest, ARunWithoutAGraphDoesNotGetTheReportOfTheRunBeforeIt) {
  desk_.examine(run(1));
  desk_.examine(run(0));
  wait_for_wakes(1);
  EXPECT_EQ(desk_.news().run_report, nullptr);
}

}  // namespace
}  // namespace app

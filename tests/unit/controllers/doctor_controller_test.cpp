// The doctor's controller: the rules' findings for one run are never shown for another.
#include "app/controllers/doctor_controller.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "app/protocol/shipped_recordings.h"

namespace app {
namespace {

constexpr std::chrono::seconds kLimit{20};

std::shared_ptr<const profiling::RecordedRun> run(std::size_t graphs) {
  auto made = std::make_shared<profiling::RecordedRun>();
  made->snapshot.graphs.resize(graphs);
  return made;
}

class DoctorControllerTest : public testing::Test {
 protected:
  /// Ticks until the background threads have woken the window `count` times.
  void wait_for_wakes(int count) {
    const auto deadline = std::chrono::steady_clock::now() + kLimit;
    while (wakes_ < count && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ASSERT_GE(wakes_, count);
    doctor_.tick();
  }

  std::atomic<int> wakes_ = 0;
  DoctorController doctor_{[this] { ++wakes_; }};
};

TEST_F(DoctorControllerTest, ReportsTheRunOnScreen) {
  doctor_.examine(run(1));
  wait_for_wakes(1);
  EXPECT_NE(doctor_.state().run_report, nullptr);
}

TEST_F(DoctorControllerTest, ARunWithoutAGraphDoesNotGetTheReportOfTheRunBeforeIt) {
  doctor_.examine(run(1));
  doctor_.examine(run(0));
  wait_for_wakes(1);
  EXPECT_EQ(doctor_.state().run_report, nullptr);
}

TEST_F(DoctorControllerTest, AnOpenedRecordingShowsWhatItsVisitHasProved) {
  doctor_.open(kWorkspaceRecording.path());
  wait_for_wakes(1);
  ASSERT_NE(doctor_.state().file_report, nullptr) << doctor_.state().file_error;
  const profiling::DoctorReport& report = *doctor_.state().file_report;
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].confidence, profiling::Confidence::Proved);
  EXPECT_FALSE(report.experiments.empty());
}

}  // namespace
}  // namespace app

// A run that stalled, as a visit: the rules on its graph and the run as the one experiment.
#include "app/doctor/visit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/doctor/report_words.h"

namespace app {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(StalledRun, IsAVisitWithTheRunAsItsExperiment) {
  engine::RunRequest request;
  request.launch = {.kind = engine::LaunchKind::GraphReplay, .iterations = 500, .markers = true};
  DoctorDone seen;
  seen.snapshot.subject = "the captured step of this run";
  seen.snapshot.graphs.emplace_back().nodes.resize(1);
  seen.outcome.verdict = profiling::Verdict::Hung;
  seen.outcome.stall = {{.replay = 41, .deadline_seconds = 0.5, .p99_seconds = 1e-5}};
  const profiling::DoctorReport report = report_of_stall(request, seen, {});
  EXPECT_EQ(report.snapshot, seen.snapshot);
  ASSERT_EQ(report.experiments.size(), 1U);
  EXPECT_EQ(report.experiments[0].experiment.replays, 500);
  EXPECT_TRUE(report.experiments[0].experiment.markers);
  EXPECT_EQ(report.experiments[0].outcome, seen.outcome);
  EXPECT_THAT(report.conclusion, StartsWith("In the run itself replay 41 hangs."));
  EXPECT_THAT(report.conclusion, HasSubstr("The rules find nothing wrong"));
  EXPECT_EQ(health_of(report), Health::Hang);
}

TEST(StalledRun, WithoutMarkersSaysSo) {
  engine::RunRequest request;
  const profiling::DoctorReport report = report_of_stall(request, {}, {});
  EXPECT_FALSE(report.experiments.at(0).experiment.markers);
}

}  // namespace
}  // namespace app

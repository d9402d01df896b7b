// Before and after: which experiments show a finding's fault and its cure.
#include "app/doctor/proof_records.h"

#include <gtest/gtest.h>

#include "app/doctor/report_words.h"

namespace app {
namespace {

using profiling::DoctorReport;
using profiling::Experiment;
using profiling::MovedMemory;
using profiling::Verdict;

constexpr const char* kWorkspace = "workspace of all products";

void add_moved(DoctorReport& report, const std::vector<MovedMemory>& moved, Verdict verdict) {
  profiling::ExperimentRecord& record = report.experiments.emplace_back();
  record.experiment.moved = moved;
  record.outcome.verdict = verdict;
}

const MovedMemory kSecond = {.node = {0, 4}, .owner = kWorkspace};
const MovedMemory kThird = {.node = {0, 6}, .owner = kWorkspace};

/// Three products share a workspace; moving the second is enough.
DoctorReport shared_by_three() {
  DoctorReport report;
  report.snapshot.graphs.resize(1);
  report.snapshot.graphs[0].nodes.resize(7);
  report.snapshot.graphs[0].nodes[4].name = "gemm";
  report.findings.resize(1);
  report.findings[0].proof.cures.moved = {kSecond, kThird};
  add_moved(report, {}, Verdict::Wrong);
  add_moved(report, {kSecond, kThird}, Verdict::Right);
  add_moved(report, {kThird}, Verdict::Wrong);
  add_moved(report, {kSecond}, Verdict::Right);
  report.smallest_cure = {kSecond};
  return report;
}

TEST(ProofRecords, AreFoundWithAnyDeadline) {
  DoctorReport report;
  report.findings.resize(1);
  report.findings[0].proof.cures.free_on_launch = true;
  report.experiments.resize(2);
  report.experiments[0].experiment.deadline_seconds = 4;
  report.experiments[1].experiment.free_on_launch = true;
  EXPECT_EQ(records_of(report, 0).shows, 0);
  EXPECT_EQ(records_of(report, 0).cures, 1);
  EXPECT_EQ(records_of(report, 1).shows, -1);
}

TEST(ProofRecords, TheSmallestCureIsTheOneAfter) {
  const DoctorReport report = shared_by_three();
  EXPECT_EQ(records_of(report, 0).shows, 0);
  EXPECT_EQ(records_of(report, 0).cures, 3);
  EXPECT_EQ(smallest_cure_text(report),
            "Smallest cure: separate memory for gemm (node 4) in place of \"workspace of all "
            "products\".");
}

TEST(ProofRecords, WithoutASearchTheFindingsOwnCureIsTheOneAfter) {
  DoctorReport report = shared_by_three();
  report.smallest_cure.clear();
  EXPECT_EQ(records_of(report, 0).cures, 1);
  EXPECT_EQ(smallest_cure_text(report), "");
}

TEST(ProofRecords, AnotherFindingsCureIsNotTaken) {
  DoctorReport report = shared_by_three();
  report.smallest_cure = {{.node = {0, 4}, .owner = "scratch of the optimizer"}};
  report.experiments[3].experiment.moved = report.smallest_cure;
  EXPECT_EQ(records_of(report, 0).cures, 1);
}

TEST(ProofRecords, AFaultShownWithOtherMemoryMovedKeepsItsCure) {
  DoctorReport report = shared_by_three();
  report.findings[0].proof.shows.moved = {{.node = {0, 1}, .owner = "scratch"}};
  EXPECT_EQ(records_of(report, 0).cures, 1);
}

}  // namespace
}  // namespace app

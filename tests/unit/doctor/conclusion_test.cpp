// The result of a report for scripts, and the titles of experiments.
#include "app/doctor/report_words.h"

#include <gtest/gtest.h>

#include "tests/unit/doctor/scripted_runner.h"

namespace app {
namespace {

using profiling::Confidence;
using profiling::DoctorReport;
using profiling::Experiment;
using profiling::Verdict;
using testing::outcome;

void add(DoctorReport& report, const Experiment& experiment, Verdict verdict) {
  report.experiments.push_back(
      {.title = "", .finding = -1, .experiment = experiment, .outcome = outcome(verdict)});
}

DoctorReport made(Verdict eager, Verdict plain) {
  DoctorReport report;
  Experiment launches;
  launches.graph = false;
  add(report, launches, eager);
  add(report, {}, plain);
  return report;
}

TEST(Health, FollowsEagerAndPlainReplays) {
  EXPECT_EQ(health_of({}), Health::Healthy);
  EXPECT_EQ(health_of(made(Verdict::Right, Verdict::Right)), Health::Healthy);
  EXPECT_EQ(health_of(made(Verdict::Right, Verdict::Wrong)), Health::Findings);
  EXPECT_EQ(health_of(made(Verdict::Right, Verdict::Refused)), Health::Findings);
  EXPECT_EQ(health_of(made(Verdict::Right, Verdict::Hung)), Health::Hang);
  EXPECT_EQ(health_of(made(Verdict::Right, Verdict::NotRun)), Health::NotRun);
  EXPECT_EQ(health_of(made(Verdict::Hung, Verdict::NotRun)), Health::Hang);
  EXPECT_EQ(health_of(made(Verdict::Wrong, Verdict::NotRun)), Health::Findings);
  EXPECT_EQ(health_of(made(Verdict::Crashed, Verdict::NotRun)), Health::NotRun);
}

TEST(Health, PossibleFindingsAloneAreHealthy) {
  DoctorReport report;
  report.findings.emplace_back();
  for (const Confidence confidence : {Confidence::Possible, Confidence::Disproved}) {
    report.findings[0].confidence = confidence;
    EXPECT_EQ(health_of(report), Health::Healthy);
  }
  for (const Confidence confidence : {Confidence::Likely, Confidence::Proved}) {
    report.findings[0].confidence = confidence;
    EXPECT_EQ(health_of(report), Health::Findings);
  }
}

TEST(Health, WrongUnderStressIsAFindingAndAFailedCureIsNot) {
  Experiment poisoned;
  poisoned.poisoned_workspaces = 0xFF;
  DoctorReport report = made(Verdict::Right, Verdict::Right);
  add(report, poisoned, Verdict::Hung);
  EXPECT_EQ(health_of(report), Health::Findings);
  Experiment changed;
  changed.changed_inputs = true;
  report = made(Verdict::Right, Verdict::Right);
  add(report, changed, Verdict::Wrong);
  report.experiments.back().finding = 0;  // run for a finding that it did not decide
  EXPECT_EQ(health_of(report), Health::Findings);
  Experiment delayed;
  delayed.delayed = {{0, 0}};
  report = made(Verdict::Right, Verdict::Right);
  add(report, delayed, Verdict::Wrong);
  report.experiments.back().finding = 0;
  EXPECT_EQ(health_of(report), Health::Healthy);
}

TEST(Symptom, EveryWordHasItsPlural) {
  Experiment launches;
  launches.graph = false;
  EXPECT_EQ(symptom_of(launches, outcome(Verdict::Right)), "all launches are right");
  EXPECT_EQ(symptom_of({}, outcome(Verdict::Right)), "all replays are right");
}

TEST(ExperimentTitle, SaysWhatIsChanged) {
  profiling::Snapshot step = testing::shared_workspace_step(5);
  Experiment experiment;
  EXPECT_EQ(experiment_title(step, experiment), "replayed");
  experiment.moved = {testing::moved(0), testing::moved(1)};
  experiment.poisoned_workspaces = 0xFF;
  EXPECT_EQ(experiment_title(step, experiment),
            "fprop, layer 0 and fprop, layer 1 in other memory; workspaces filled with 0xff");
  experiment = {};
  experiment.graph = false;
  experiment.replays = 3;
  EXPECT_EQ(experiment_title(step, experiment), "eager, three times");
  experiment = {};
  experiment.delayed = {{0, 0}, {0, 1}, {0, 2}, {0, 3}};
  EXPECT_EQ(experiment_title(step, experiment),
            "fprop, layer 0 and fprop, layer 1 and fprop, layer 2 and 1 more delayed");
  experiment = {.moved_inputs = true};
  EXPECT_EQ(experiment_title(step, experiment), "inputs in other memory from replay 2 on");
  experiment.patched_host = true;
  EXPECT_EQ(experiment_title(step, experiment),
            "inputs in other memory from replay 2 on, addresses on the host too");
  experiment = {};
  experiment.ordered = {{{0, 0}, {0, 9}}};
  EXPECT_EQ(experiment_title(step, experiment), "node 9 waits for fprop, layer 0");
}

TEST(ExperimentTitle, SaysWhatHappensBetweenGraphs) {
  profiling::Snapshot step = testing::shared_workspace_step(2);
  step.graphs[0].name = "forward";
  step.graphs.push_back(step.graphs[0]);
  step.graphs[1].name = "backward";
  Experiment experiment = {.fresh = {{"saved", 0}, {"saved", 1}},
                           .filled_between = {{"saved", 255}}};
  EXPECT_EQ(experiment_title(step, experiment),
            "saved filled with 0xff between graphs; new memory for saved in forward and backward");
  experiment = {.launches = {{.graph = 1}, {.graph = 0, .overlaps = true}}};
  EXPECT_EQ(experiment_title(step, experiment), "launched backward, with it forward");
  experiment = {.captured_per_launch = true};
  EXPECT_EQ(experiment_title(step, experiment), "captured for every launch");
  EXPECT_FALSE(experiment.is_plain());
}

TEST(ExperimentTitle, ProjectionsOfAnExpertLayerAreNamed) {
  profiling::Snapshot step = testing::shared_workspace_step(4);
  step.step = engine::StepKind::ExpertLayer;
  EXPECT_EQ(node_title(step, {0, 0}), "fprop, layer 0, up");
  EXPECT_EQ(node_title(step, {0, 3}), "fprop, layer 1, down");
}

TEST(ExperimentTitle, ANodeIsNamedByItsOperation) {
  profiling::Snapshot step = testing::shared_workspace_step(4);
  step.step = engine::StepKind::ExpertLayer;
  profiling::SnapshotNode& quantize = step.graphs[0].nodes[0];
  quantize.stage = engine::Stage::Quantize;
  quantize.writes = engine::written(engine::StepTensor::WUp, engine::CopyForms::Columnwise);
  profiling::SnapshotNode& second = step.graphs[0].nodes[3];
  second.writes = engine::written(engine::StepTensor::Y);
  EXPECT_EQ(node_title(step, {0, 0}), "quantize Wup, columnwise, layer 0");
  EXPECT_EQ(node_title(step, {0, 3}), "fprop down, layer 1");
  // Two of a stage and layer are told apart by what they write.
  step.graphs[0].nodes[2] = second;
  step.graphs[0].nodes[2].writes = engine::written(engine::StepTensor::H);
  EXPECT_EQ(node_title(step, {0, 2}), "fprop up, layer 1");
  EXPECT_EQ(node_title(step, {0, 3}), "fprop down, layer 1");
}

TEST(ExperimentTitle, NodesWithTheSameStageAndGraphsAreDistinguished) {
  profiling::Snapshot step = testing::shared_workspace_step(2);
  step.graphs[0].nodes[1].layer = 0;
  EXPECT_EQ(node_title(step, {0, 1}), "fprop, layer 0 (node 1)");
  step.graphs[0].nodes[1].stage = engine::Stage::Other;
  EXPECT_EQ(node_title(step, {0, 1}), "product (node 1)");
  step.graphs.push_back(step.graphs[0]);
  EXPECT_EQ(node_title(step, {1, 0}), "fprop, layer 0 of step");
  step.graphs[1].variant_of = 0;
  EXPECT_EQ(node_title(step, {0, 0}), "fprop, layer 0");
}

}  // namespace
}  // namespace app

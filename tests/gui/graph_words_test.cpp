#include "app/gui/graph/graph_words.h"

#include <gtest/gtest.h>

#include "app/gui/doctor/examine_bar.h"
#include "app/gui/doctor/finding_view.h"

namespace app {
namespace {

using profiling::NodeState;

TEST(GraphWords, BoardNamesTheRunningNode) {
  profiling::GraphSnapshot graph;
  graph.nodes.resize(3);
  graph.nodes[1].name = "spin_kernel";
  const std::vector<NodeState> board = {NodeState::Done, NodeState::Running, NodeState::NotReached};
  EXPECT_EQ(board_text(&graph, 2, board), "replay 2: 1 of 3 nodes done, running: 1  spin");
  EXPECT_EQ(board_text(nullptr, 2, board), "replay 2: 1 of 3 nodes done");
  EXPECT_EQ(board_text(&graph, 0, {}), "no replay is in progress");
}

TEST(GraphWords, StallSaysWhereAndWhy) {
  profiling::Snapshot snapshot;
  snapshot.graphs.emplace_back().nodes.resize(2);
  snapshot.graphs[0].nodes[1].name = "spin_kernel";
  profiling::Stall stall;
  stall.replay = 2;
  stall.waited_seconds = 3;
  stall.p99_seconds = 12.5e-6;
  stall.deadline_seconds = 1.5;
  stall.nodes = {NodeState::Done, NodeState::Running};
  stall.kind = profiling::StallKind::KernelSpins;
  EXPECT_EQ(stall_text(snapshot, stall),
            "Replay 2 did not end within 3 s (deadline 1.5 s; 99 % of the previous replays took "
            "12.5 us or less): a kernel spins. Running: 1  spin.");
}

TEST(GraphWords, DeadlineFollowsItsMode) {
  EXPECT_EQ(deadline_of(DeadlineMode::Automatic, 20, 5, 0.1), 0.0);
  EXPECT_DOUBLE_EQ(deadline_of(DeadlineMode::Percentile, 20, 5, 0.1), 2.0);
  EXPECT_EQ(deadline_of(DeadlineMode::Seconds, 20, 5, 0.1), 5.0);
}

TEST(GraphWords, ExperimentsOfAProofAreFoundWithAnyDeadline) {
  profiling::DoctorReport report;
  report.findings.resize(1);
  report.findings[0].proof.cures.free_on_launch = true;
  report.experiments.resize(2);
  report.experiments[0].experiment.deadline_seconds = 4;
  report.experiments[1].experiment.free_on_launch = true;
  EXPECT_EQ(records_of(report, 0).shows, 0);
  EXPECT_EQ(records_of(report, 0).cures, 1);
  EXPECT_EQ(records_of(report, 1).shows, -1);
}

}  // namespace
}  // namespace app

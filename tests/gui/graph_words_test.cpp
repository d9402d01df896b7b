#include "app/gui/graph/graph_words.h"

#include <gtest/gtest.h>

#include "app/gui/doctor/examine_bar.h"
#include "app/plot/pointer_arrays.h"

namespace app {
namespace {

using engine::StepKind;

using profiling::NodeState;

TEST(GraphWords, BoardNamesTheRunningNode) {
  profiling::GraphSnapshot graph;
  graph.nodes.resize(3);
  graph.nodes[1].name = "spin_kernel";
  const std::vector<NodeState> board = {NodeState::Done, NodeState::Running, NodeState::NotReached};
  EXPECT_EQ(board_text(StepKind::Linear, &graph, 2, board),
            "replay 2: 1 of 3 nodes done, running: 1  spin");
  EXPECT_EQ(board_text(StepKind::Linear, nullptr, 2, board), "replay 2: 1 of 3 nodes done");
  EXPECT_EQ(board_text(StepKind::Linear, &graph, 0, {}), "no replay is in progress");
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
            "12.50 \u00b5s or less): a kernel spins. Running: 1  spin.");
}

TEST(GraphWords, NumbersOfPlacesAreGrouped) {
  EXPECT_EQ(place_words("parameter byte 1648"), "parameter byte 1 648");
  EXPECT_EQ(place_words("parameter byte 64"), "parameter byte 64");
  EXPECT_EQ(place_words("memset target"), "memset target");
  EXPECT_EQ(place_words("byte 99999999999999999999 of 12345"),
            "byte 99999999999999999999 of 12 345");
}

TEST(GraphWords, ANodeSaysWhichOperandItQuantizes) {
  profiling::GraphSnapshot graph;
  graph.nodes.resize(2);
  graph.nodes[1] = {.name = "tile_kernel", .stage = engine::Stage::Quantize};
  GraphFacts facts;
  facts.operands = {"", "dY"};
  EXPECT_EQ(node_title(StepKind::Linear, graph, 1, &facts), "1  quantize dY  tile");
  EXPECT_EQ(node_title(StepKind::Linear, graph, 1), "1  tile");
  EXPECT_EQ(node_title(StepKind::Linear, graph, 0, &facts), "0  unknown");
  EXPECT_EQ(node_title(StepKind::Linear, graph, 7, &facts), "node 7");
}

TEST(GraphWords, ANodeIsNamedByItsOperation) {
  profiling::GraphSnapshot graph;
  graph.nodes = {
      {.name = "tile_kernel",
       .stage = engine::Stage::Quantize,
       .writes = engine::written(engine::StepTensor::WUp, engine::CopyForms::Columnwise)},
      {.name = "nvjet_sm90_qqtst",
       .stage = engine::Stage::Fprop,
       .writes = engine::written(engine::StepTensor::H)}};
  GraphFacts facts;
  facts.operands = {"Wup", ""};  // what old recordings have to do with
  EXPECT_EQ(node_title(StepKind::ExpertLayer, graph, 0, &facts),
            "0  quantize Wup, columnwise  tile");
  EXPECT_EQ(node_title(StepKind::ExpertLayer, graph, 1), "1  fprop up  nvjet_qqtst");
}

TEST(GraphWords, DeadlineFollowsItsMode) {
  EXPECT_EQ(deadline_of(DeadlineMode::Automatic, 20, 5, 0.1), 0.0);
  EXPECT_DOUBLE_EQ(deadline_of(DeadlineMode::Percentile, 20, 5, 0.1), 2.0);
  EXPECT_EQ(deadline_of(DeadlineMode::Seconds, 20, 5, 0.1), 5.0);
}

TEST(GraphWords, ProductsThatReachTheirOperandsThroughArraysSaySo) {
  EXPECT_EQ(arrays_sentence({}), "");
  const PointerArrays arrays = {.products = {8, 13}, .fillers = {0, 1}};
  EXPECT_EQ(arrays_sentence(arrays),
            "Grouped products (nodes 8 and 13) reach their operands through pointer arrays, which "
            "nodes 0 and 1 fill: their arguments hold no address of X, of W or of what they "
            "write.");
  EXPECT_EQ(operands_words(arrays, 13), "reached through pointer arrays, which nodes 0 and 1 fill");
  EXPECT_EQ(operands_words(arrays, 0), "");
  EXPECT_EQ(operands_words({.products = {1, 2, 3, 4, 5, 6, 7, 8}, .fillers = {0}}, 8),
            "reached through pointer arrays, which node 0 fills");
}

}  // namespace
}  // namespace app

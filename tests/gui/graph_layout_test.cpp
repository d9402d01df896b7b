#include "app/plot/graph_facts.h"

#include <gtest/gtest.h>

#include "tests/support/cpu_time.h"

namespace app {
namespace {

profiling::GraphSnapshot graph_of(int nodes, const std::vector<std::pair<int, int>>& edges) {
  profiling::GraphSnapshot graph;
  graph.nodes.resize(static_cast<std::size_t>(nodes));
  for (const auto& [from, to] : edges) graph.edges.push_back({.from = from, .to = to});
  return graph;
}

void expect_apart(const GraphLayout& layout) {
  for (std::size_t a = 0; a < layout.places.size(); ++a) {
    for (std::size_t b = a + 1; b < layout.places.size(); ++b) {
      const GraphLayout::Place& one = layout.places[a];
      const GraphLayout::Place& other = layout.places[b];
      if (one.x != other.x) continue;
      EXPECT_GE(std::abs(one.y - other.y), 1.0F) << a << " and " << b;
    }
  }
}

TEST(GraphLayout, DiamondHasThreeLayersAndNoOverlap) {
  const GraphLayout layout = lay_out(graph_of(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}));
  ASSERT_EQ(layout.layers, 3);
  EXPECT_EQ(layout.places[1].layer, 1);
  EXPECT_EQ(layout.places[2].layer, 1);
  EXPECT_EQ(layout.places[3].layer, 2);
  expect_apart(layout);
}

TEST(GraphLayout, LongestPathDecidesTheLayer) {
  const GraphLayout layout = lay_out(graph_of(4, {{0, 3}, {0, 1}, {1, 2}, {2, 3}}));
  EXPECT_EQ(layout.places[3].layer, 3);
}

TEST(GraphLayout, BranchesStayOnTheirRows) {
  // Two streams of three nodes each between a fork and a join.
  const GraphLayout layout = lay_out(graph_of(5, {{0, 1}, {0, 2}, {1, 3}, {2, 4}}));
  EXPECT_LT(layout.places[1].y, layout.places[2].y);
  EXPECT_FLOAT_EQ(layout.places[1].y, layout.places[3].y);
  EXPECT_FLOAT_EQ(layout.places[2].y, layout.places[4].y);
}

TEST(GraphLayout, ChildrenStandBeforeWhatFollowsTheirParent) {
  profiling::GraphSnapshot graph = graph_of(5, {{0, 4}, {1, 2}, {2, 3}});
  for (std::size_t i = 1; i <= 3; ++i) graph.nodes[i].parent = 0;
  const GraphLayout layout = lay_out(graph);
  EXPECT_EQ(layout.places[1].layer, 1);
  EXPECT_EQ(layout.places[3].layer, 3);
  EXPECT_EQ(layout.places[4].layer, 4);
}

TEST(GraphLayout, BrokenEdgesAreLeftOut) {
  const GraphLayout layout = lay_out(graph_of(2, {{0, 7}, {-1, 1}, {1, 0}, {1, 1}}));
  EXPECT_EQ(layout.layers, 1);
  expect_apart(layout);
}

TEST(GraphLayout, LongChainIsWrappedIntoBands) {
  std::vector<std::pair<int, int>> edges;
  for (int i = 0; i + 1 < 300; ++i) edges.emplace_back(i, i + 1);
  const GraphLayout layout = lay_out(graph_of(300, edges));
  EXPECT_GT(layout.bands, 5);
  EXPECT_GT(layout.width, layout.height);
  EXPECT_LT(layout.width, 4.0F * layout.height);
  expect_apart(layout);
}

TEST(GraphLayout, TenThousandNodesTakeLessThanASecond) {
  std::vector<std::pair<int, int>> edges;
  for (int i = 1; i < 10000; ++i) {
    edges.emplace_back(std::max(0, i - 8), i);
    if (i % 64 == 0) {
      for (int k = 1; k < 8; ++k) edges.emplace_back(i - k, i);
    }
  }
  const profiling::GraphSnapshot graph = graph_of(10000, edges);
  const double began = tests::cpu_seconds();
  const GraphLayout layout = lay_out(graph);
  EXPECT_LT(tests::cpu_seconds() - began, 1.0);
  const GraphLayout again = lay_out(graph);
  for (std::size_t i = 0; i < layout.places.size(); ++i) {
    EXPECT_EQ(layout.places[i].y, again.places[i].y);
  }
}

TEST(GraphLayout, NoNodesGiveNoPlaces) { EXPECT_TRUE(lay_out({}).places.empty()); }

TEST(NodeLabels, NameTheWorkAndTellKernelsOfOneOperationApart) {
  profiling::GraphSnapshot graph = graph_of(4, {});
  graph.nodes[0].stage = graph.nodes[1].stage = engine::Stage::Quantize;
  graph.nodes[0].name = "void kernels::tile_kernel<float>(int)";
  graph.nodes[1].name = "void kernels::amax_kernel<float>(int)";
  graph.nodes[2].name = "nvjet_sm90_qqtst";
  const std::vector<std::string> labels =
      node_labels(engine::StepKind::Linear, graph, {"X", "X", "", ""});
  EXPECT_TRUE(labels[0].starts_with("quantize X (tile")) << labels[0];
  EXPECT_TRUE(labels[1].starts_with("quantize X (amax")) << labels[1];
  EXPECT_EQ(labels[2].find("quantize"), std::string::npos);
  EXPECT_FALSE(labels[3].empty()) << "a node without a name has its type";
}

}  // namespace
}  // namespace app

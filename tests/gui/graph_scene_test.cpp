// A report that grows on screen, as that of a program that runs: what the user has chosen and where
// a graph is scrolled to stays.
#include "app/gui/graph/graph_scene.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace app {
namespace {

profiling::GraphSnapshot graph_of(const std::string& name, std::size_t nodes) {
  profiling::GraphSnapshot graph;
  graph.name = name;
  graph.nodes.resize(nodes);
  return graph;
}

GraphScene::Report report_of(std::vector<profiling::GraphSnapshot> graphs) {
  profiling::DoctorReport report;
  report.snapshot.subject = "train.py (process 1234)";
  report.snapshot.graphs = std::move(graphs);
  return std::make_shared<const profiling::DoctorReport>(std::move(report));
}

TEST(GraphScene, AGraphStaysWhereItIsWhileItsReportGrows) {
  GraphScene scene([] {});
  scene.show(report_of({graph_of("graph 1", 2), graph_of("graph 2", 3)}), nullptr, nullptr);
  scene.show_graph(1);
  scene.choose_node(2);
  const std::uint64_t graph = scene.graph_generation();
  const std::uint64_t report = scene.report_generation();
  scene.show(report_of({graph_of("graph 2", 3), graph_of("graph 3", 5)}), nullptr, nullptr);
  EXPECT_EQ(scene.graph_index(), 0);
  EXPECT_EQ(scene.node(), 2);
  EXPECT_EQ(scene.graph_generation(), graph);
  EXPECT_NE(scene.report_generation(), report);
  // It has gone: another one is shown, from its beginning.
  scene.show(report_of({graph_of("graph 3", 5)}), nullptr, nullptr);
  EXPECT_NE(scene.graph_generation(), graph);
  EXPECT_EQ(scene.node(), -1);
}

TEST(GraphScene, ANodeIsFoundByItsIdInWhicheverGraphHasIt) {
  profiling::GraphSnapshot forward = graph_of("forward", 2);
  profiling::GraphSnapshot backward = graph_of("backward", 3);
  forward.nodes[1].id = 11;
  backward.nodes[2].id = 22;
  GraphScene scene([] {});
  scene.show(report_of({forward, backward}), nullptr, nullptr);
  EXPECT_EQ(scene.node_id(), 0U);
  scene.choose_node_by_id(22);
  EXPECT_EQ(scene.graph_index(), 1);
  EXPECT_EQ(scene.node(), 2);
  EXPECT_EQ(scene.node_id(), 22U);
  scene.choose_node_by_id(11);
  EXPECT_EQ(scene.graph_index(), 0);
  EXPECT_EQ(scene.node(), 1);
  // Nodes without an id are not the one that is sought.
  scene.choose_node_by_id(0);
  EXPECT_EQ(scene.node(), -1);
  scene.choose_node_by_id(33);
  EXPECT_EQ(scene.node(), -1);
}

}  // namespace
}  // namespace app

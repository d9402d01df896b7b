// Files of cudaGraphDebugDotPrint() as driver 580 writes them, with and without its flags, and
// files that are none or were damaged.
#include "profiling/hazards/snapshot/dot_import.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "profiling/hazards/model/snapshot.h"
#include "tests/support/cpu_time.h"
#include "tests/support/patience.h"

namespace profiling {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string content_of(const std::string& name) {
  std::ifstream file(std::string(DOT_FILES "/") + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

GraphSnapshot imported(const std::string& text) {
  const auto snapshot = import_dot(text, "file");
  if (!snapshot.ok()) {
    ADD_FAILURE() << snapshot.error().message;
    return {};
  }
  EXPECT_TRUE(check_snapshot(snapshot.value()).ok())
      << check_snapshot(snapshot.value()).error().message;
  EXPECT_EQ(snapshot.value().graphs.size(), 1U);
  EXPECT_TRUE(snapshot.value().graphs.at(0).degraded);
  return snapshot.value().graphs.at(0);
}

std::string dot_refusal(const std::string& text) {
  const auto snapshot = import_dot(text, "x.dot");
  return snapshot.ok() ? "imported" : snapshot.error().message;
}

std::vector<NodeType> types_of(const GraphSnapshot& graph) {
  std::vector<NodeType> types;
  for (const SnapshotNode& node : graph.nodes) types.push_back(node.type);
  return types;
}

const auto kAllTypes = ElementsAre(
    NodeType::Kernel, NodeType::Kernel, NodeType::Memset, NodeType::Memset, NodeType::Memcpy,
    NodeType::Memcpy, NodeType::Memcpy, NodeType::Host, NodeType::RecordEvent, NodeType::WaitEvent,
    NodeType::MemAlloc, NodeType::MemFree, NodeType::ChildGraph, NodeType::Empty, NodeType::Memcpy,
    NodeType::Conditional, NodeType::Kernel);

TEST(DotImport, WithAllFlags) {
  const GraphSnapshot graph = imported(content_of("verbose.dot"));
  EXPECT_EQ(graph.name, "graph_1");
  ASSERT_THAT(types_of(graph), kAllTypes);
  EXPECT_EQ(graph.nodes[0].name, "twice<float, 3>");
  EXPECT_EQ(graph.nodes[0].parameters, NodeParameters(KernelNode{.function = "_Z5twiceIfLi3EEvPT_",
                                                                 .grid = {2, 3, 1},
                                                                 .block = {32, 2, 1},
                                                                 .dynamic_shared_bytes = 128}));
  EXPECT_EQ(graph.nodes[3].parameters,
            NodeParameters(MemsetNode{
                .address = 0x7FCD73E00000, .value = 1, .width = 64, .height = 3, .pitch = 512}));
  EXPECT_EQ(graph.nodes[4].parameters,
            NodeParameters(MemcpyNode{.source_space = engine::MemorySpace::PinnedHost,
                                      .target_space = engine::MemorySpace::Device,
                                      .source = 0x7FCD78800000,
                                      .target = 0x7FCD73E00000,
                                      .bytes = 4096}));
  EXPECT_EQ(std::get<MemcpyNode>(graph.nodes[5].parameters).target_space,
            engine::MemorySpace::PageableHost);
  EXPECT_EQ(std::get<MemcpyNode>(graph.nodes[6].parameters).target, 0x7FCD73E00F9CU);
  EXPECT_EQ(graph.nodes[10].parameters,
            NodeParameters(MemAllocNode{.address = 0x302000000, .bytes = 5000}));
  EXPECT_EQ(graph.nodes[11].parameters, NodeParameters(MemFreeNode{.address = 0x302000000}));
  EXPECT_EQ(graph.nodes[7].name, "host call");
}

TEST(DotImport, ChildrenFollowTheirParent) {
  for (const char* name : {"verbose.dot", "plain.dot"}) {
    const GraphSnapshot graph = imported(content_of(name));
    ASSERT_EQ(graph.nodes.size(), 17U);
    EXPECT_EQ(graph.nodes[12].parent, -1);
    EXPECT_EQ(graph.nodes[13].parent, 12);
    EXPECT_EQ(graph.nodes[14].parent, 12);
    EXPECT_EQ(graph.nodes[15].parent, -1);
    EXPECT_EQ(graph.nodes[16].parent, 15);
    EXPECT_EQ(graph.edges.size(), 14U);
    EXPECT_THAT(graph.edges, testing::Contains(SnapshotEdge{.from = 12, .to = 15}));
    EXPECT_THAT(graph.edges, testing::Contains(SnapshotEdge{.from = 13, .to = 14}));
  }
}

TEST(DotImport, WithoutFlags) {
  const GraphSnapshot graph = imported(content_of("plain.dot"));
  ASSERT_THAT(types_of(graph), kAllTypes);
  EXPECT_EQ(graph.nodes[0].name, "twice<float, 3>");
  EXPECT_EQ(graph.nodes[2].parameters, NodeParameters(MemsetNode{.value = 7, .width = 100}));
  EXPECT_EQ(graph.nodes[5].parameters,
            NodeParameters(MemcpyNode{.source_space = engine::MemorySpace::Device, .bytes = 512}));
}

TEST(DotImport, LineEndsOfWindows) {
  const std::string text = content_of("verbose.dot");
  std::string windows;
  for (const char c : text) {
    if (c == '\n') windows += '\r';
    windows += c;
  }
  EXPECT_EQ(imported(windows), imported(text));
}

TEST(DotImport, NamesThatAreNotEscaped) {
  const GraphSnapshot graph = imported(content_of("unescaped.dot"));
  ASSERT_EQ(graph.nodes.size(), 3U);
  EXPECT_EQ(graph.nodes[0].type, NodeType::Unknown);
  EXPECT_EQ(graph.nodes[0].name, "SOMETHING_OF_TOMORROW");
  EXPECT_EQ(std::get<KernelNode>(graph.nodes[1].parameters).function,
            "operator->(Table[\"key\"] const&)");
  EXPECT_EQ(graph.nodes[2].parameters,
            NodeParameters(
                KernelNode{.function = "void scale<Pair<float, \"x\">, {1|2}, (1 << 3)>(float*)",
                           .grid = {16, 10, 4},
                           .block = {128, 1, 1},
                           .dynamic_shared_bytes = 49152,
                           .cooperative = true}));
  EXPECT_THAT(graph.edges,
              ElementsAre(SnapshotEdge{.from = 0, .to = 1}, SnapshotEdge{.from = 1, .to = 2}));
}

/// A chain of kernels, printed last first.
std::string chain(int nodes) {
  std::string text =
      "digraph dot {\nsubgraph cluster_1 {\nlabel=\"graph_1\" graph[style=\"dashed\"];\n";
  for (int i = nodes - 1; i >= 0; --i) {
    text += fmt::format(
        "\"graph_1_node_{0}\"[style=\"bold\" shape=\"octagon\" label=\"{0}\nk{0}\n\"];\n\n", i);
  }
  for (int i = 1; i < nodes; ++i) {
    text += fmt::format("\"graph_1_node_{}\" -> \"graph_1_node_{}\";\n", i - 1, i);
  }
  return text + "}\n}\n";
}

TEST(DotImport, TenThousandNodesInTopologicalOrder) {
  const std::string text = chain(10'000);
  const double start = tests::cpu_seconds();
  const GraphSnapshot graph = imported(text);
  EXPECT_LT(tests::cpu_seconds() - start, 5 * tests::patience());
  ASSERT_EQ(graph.nodes.size(), 10'000U);
  EXPECT_EQ(graph.nodes.front().name, "k0");
  EXPECT_EQ(graph.nodes.back().name, "k9999");
}

TEST(DotImport, IndependentNodesKeepTheOrderOfTheFile) {
  std::string text = "digraph dot {\nsubgraph cluster_1 {\n";
  for (const char* name : {"c", "a", "b"}) {
    text += fmt::format("\"{0}\"[shape=\"octagon\" label=\"0\n{0}\n\"];\n", name);
  }
  const GraphSnapshot graph = imported(text + "}\n}\n");
  ASSERT_EQ(graph.nodes.size(), 3U);
  EXPECT_EQ(graph.nodes[0].name + graph.nodes[1].name + graph.nodes[2].name, "cab");
}

// Every part repeats an earlier one twice: names of this kind take gigabytes when demangled.
TEST(DotImport, NamesThatExpandExponentiallyAreShortened) {
  std::string name = "_ZN5outer5innerEP1aPFvS1_S1_E";
  for (int part = 3; part < 36; part += 2) name += fmt::format("PFvS{0}_S{0}_E", part % 10);
  const auto graph_with = [](std::string_view kernel) {
    return fmt::format("digraph d {{\n\"a\"[shape=\"octagon\" label=\"0\n{}\n\"];\n}}\n", kernel);
  };
  EXPECT_EQ(imported(graph_with(name)).nodes.at(0).name, "outer::inner");
  EXPECT_EQ(imported(graph_with("_ZN5outer5innerIfEEvT_S0_")).nodes.at(0).name,
            "outer::inner<float>");
}

TEST(DotImport, RefusesFilesWithoutAGraph) {
  EXPECT_THAT(dot_refusal(""), HasSubstr("x.dot: line 1: is not a dot file"));
  EXPECT_THAT(dot_refusal("SQLite format 3"), HasSubstr("line 1: is not a dot file"));
  EXPECT_THAT(dot_refusal("digraph dot {\n}\n"), HasSubstr("holds no graph"));
  EXPECT_THAT(dot_refusal("digraph dot {\nsubgraph cluster_1 {\n}\n}\n"),
              HasSubstr("holds no node"));
}

std::string in_graph(std::string_view body) { return fmt::format("digraph d {{\n{}}}\n", body); }

TEST(DotImport, NamesTheLineOfAFault) {
  const std::string node = "\"a\"[shape=\"octagon\" label=\"0\nk\n\"];\n";  // 3 lines
  EXPECT_THAT(dot_refusal(in_graph(node + "\"a\" -> \"b\";\n")),
              HasSubstr("line 5: this edge names node 'b'"));
  EXPECT_THAT(dot_refusal(in_graph(node + node)), HasSubstr("line 5: node 'a' is defined twice"));
  EXPECT_THAT(dot_refusal(in_graph(node + "\"a\" -> ;\n")),
              HasSubstr("line 5: this edge leads to no node"));
  EXPECT_THAT(dot_refusal(in_graph(node.substr(0, node.size() - 4) + node)),
              HasSubstr("line 2: this node is not closed"));
  EXPECT_THAT(dot_refusal(fmt::format("digraph d {{\n{}", node)),
              HasSubstr("line 4: the file is truncated"));
  EXPECT_THAT(dot_refusal(in_graph(node + "\"a\" = 5\n")), HasSubstr("line 5: 'a'"));
}

TEST(DotImport, RefusesCycles) {
  EXPECT_THAT(dot_refusal(in_graph("\"a\"[label=\"0\nx\n\"];\n\"b\"[label=\"0\nx\n\"];\n"
                                   "\"a\" -> \"b\";\n\"b\" -> \"a\";\n")),
              HasSubstr("line 8: the nodes of graph form a dependency cycle"));
  const auto holds = [](int number, int child) {
    return fmt::format(
        "subgraph cluster_{0} {{\n\"n{0}\"[shape=\"rectangle\" label=\"0\ngraph_{1}\n\"];\n}}\n",
        number, child);
  };
  EXPECT_THAT(dot_refusal(in_graph(holds(1, 2) + holds(2, 1))),
              HasSubstr("its graphs contain each other in a cycle"));
  EXPECT_THAT(dot_refusal(in_graph(holds(3, 1) + holds(1, 2) + holds(2, 1))),
              HasSubstr("levels of nested graphs"));
}

TEST(DotImport, RefusesGraphsThatExpandExponentially) {
  // Each graph holds the next one twice: 2^40 nodes.
  std::string text;
  for (int i = 0; i < 40; ++i) {
    text += fmt::format("subgraph cluster_{} {{\n", i);
    for (int copy = 0; copy < 2; ++copy) {
      text +=
          fmt::format("\"g{}_{}\"[shape=\"rectangle\" label=\"0\ngraph_{}\n\"];\n", i, copy, i + 1);
    }
    text += "}\n";
  }
  EXPECT_THAT(dot_refusal(in_graph(text)), HasSubstr("more than 1000000 nodes"));
}

}  // namespace
}  // namespace profiling

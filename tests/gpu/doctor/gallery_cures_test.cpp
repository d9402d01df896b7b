// Hand-written experiments that show a program's fault and cure it: the programs can be proved
// regardless of what the rules find.
#include <algorithm>
#include <cstring>

#include "tests/gpu/doctor/gallery_run.h"

namespace profiling {
namespace {

using Cures = GalleryRun;

/// Nodes whose argument bytes hold an address in memory of that owner, newest allocation.
std::vector<NodeRef> holders(const Snapshot& snapshot, int graph, const std::string& owner) {
  const engine::Allocation* memory = nullptr;
  for (const engine::Allocation& allocation : snapshot.ledger) {
    if (allocation.owner == owner) memory = &allocation;
  }
  std::vector<NodeRef> found;
  if (memory == nullptr || static_cast<std::size_t>(graph) >= snapshot.graphs.size()) return found;
  const auto& nodes = snapshot.graphs[static_cast<std::size_t>(graph)].nodes;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const auto* kernel = std::get_if<KernelNode>(&nodes[n].parameters);
    for (std::size_t at = 0; kernel != nullptr && at + 8 <= kernel->parameters.size(); at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, kernel->parameters.data() + at, sizeof word);
      if (!memory->holds(word)) continue;
      found.push_back({.graph = graph, .node = static_cast<int>(n)});
      break;
    }
  }
  return found;
}

NodeRef node_of(const Snapshot& snapshot, engine::Stage stage) {
  const auto& nodes = snapshot.graphs.front().nodes;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (nodes[n].stage == stage) return {.graph = 0, .node = static_cast<int>(n)};
  }
  ADD_FAILURE() << "no node of stage " << engine::stage_name(stage);
  return {};
}

struct MovedCase {
  const char* id;
  int graph;
  const char* owner;
};

TEST_F(Cures, MovedMemory) {
  constexpr MovedCase kCases[] = {
      {"workspace-freed", 0, "workspace of the product"},
      {"workspace-regrown", 0, "workspace of captures, 1024 KiB"},
      {"pool-alias", 1, "scratch of backward"},
  };
  for (const MovedCase& moved : kCases) {
    SCOPED_TRACE(moved.id);
    const std::vector<NodeRef> nodes = holders(snapshot(moved.id, false), moved.graph, moved.owner);
    ASSERT_EQ(nodes.size(), 1U);
    EXPECT_EQ(verdict(moved.id, false, {.moved = {{.node = nodes[0], .owner = moved.owner}}}),
              Verdict::Right);
  }
}

TEST_F(Cures, FilledCounter) {
  EXPECT_EQ(verdict("flag-not-reset", false, {.filled = {{.owner = "arrived blocks"}}}),
            Verdict::Right);
}

TEST_F(Cures, ScribbledHostMemory) {
  for (const char* id : {"host-pointer-array", "host-source-reused"}) {
    EXPECT_EQ(verdict(id, false, {.scribbled_host = true}), Verdict::Wrong) << id;
  }
}

TEST_F(Cures, MovedInputs) {
  EXPECT_EQ(verdict("host-pointer-array", false, {.moved_inputs = true}), Verdict::Wrong);
  EXPECT_EQ(verdict("host-pointer-array", false, {.moved_inputs = true, .patched_host = true}),
            Verdict::Right);
  EXPECT_EQ(verdict("host-pointer-array", true, {.moved_inputs = true}), Verdict::Right);
}

TEST_F(Cures, ChangedInputs) {
  for (const char* id : {"scalar-baked", "splits-baked"}) {
    EXPECT_EQ(verdict(id, false, {.changed_inputs = true}), Verdict::Wrong) << id;
    EXPECT_EQ(verdict(id, false, {.changed_inputs = true, .recaptured = true}), Verdict::Right)
        << id;
    EXPECT_EQ(verdict(id, true, {.changed_inputs = true}), Verdict::Right) << id;
  }
}

TEST_F(Cures, FreeOnLaunch) {
  EXPECT_EQ(verdict("allocation-without-free", false, {.free_on_launch = true}), Verdict::Right);
}

TEST_F(Cures, AFullEdgeInPlaceOfTheProgrammaticOne) {
  const Snapshot plain = snapshot("programmatic-without-wait", false);
  ASSERT_FALSE(plain.graphs.empty());
  const NodeRef producer = node_of(plain, engine::Stage::Quantize);
  const NodeRef consumer = node_of(plain, engine::Stage::Fprop);
  EXPECT_EQ(verdict("programmatic-without-wait", false, {.ordered = {{producer, consumer}}}),
            Verdict::Right);
}

TEST_F(Cures, ADelayedWriterAndAnOrder) {
  const Snapshot plain = snapshot("unordered-siblings", false);
  ASSERT_FALSE(plain.graphs.empty());
  const NodeRef writer = node_of(plain, engine::Stage::Quantize);
  const NodeRef reader = node_of(plain, engine::Stage::Fprop);
  EXPECT_EQ(verdict("unordered-siblings", false, {.delayed = {writer}}), Verdict::Wrong);
  EXPECT_EQ(
      verdict("unordered-siblings", false, {.delayed = {writer}, .ordered = {{writer, reader}}}),
      Verdict::Right);
  EXPECT_EQ(verdict("unordered-siblings", true, {.delayed = {writer}}), Verdict::Right);
}

TEST_F(Cures, AReaderBeforeTheFreeOfWhatItReads) {
  const Snapshot plain = snapshot("freed-before-use", false);
  ASSERT_FALSE(plain.graphs.empty());
  const auto& nodes = plain.graphs.front().nodes;
  const auto free = std::ranges::find(nodes, NodeType::MemFree, &SnapshotNode::type);
  ASSERT_NE(free, nodes.end());
  const NodeRef first_free{.graph = 0, .node = static_cast<int>(free - nodes.begin())};
  const NodeRef reader = node_of(plain, engine::Stage::Fprop);
  EXPECT_EQ(verdict("freed-before-use", false, {.ordered = {{reader, first_free}}}),
            Verdict::Right);
}

const std::vector<FilledMemory> kOverwritten = {{.owner = "saved activation", .value = 0xFF}};

TEST_F(Cures, MemoryOverwrittenBetweenGraphs) {
  const char* id = "saved-tensor-freed";
  EXPECT_EQ(verdict(id, false, {.filled_between = kOverwritten}), Verdict::Wrong);
  EXPECT_EQ(verdict(id, false,
                    {.fresh = {{"saved activation", 0}, {"saved activation", 1}},
                     .filled_between = kOverwritten}),
            Verdict::Right);
  // Its memory is in use there.
  EXPECT_EQ(verdict(id, true, {.filled_between = kOverwritten}), Verdict::Wrong);
}

TEST_F(Cures, GraphsThatOverlapOrDoNot) {
  const char* id = "concurrent-workspace";
  const std::vector<GraphLaunch> in_order = {{.graph = 0}, {.graph = 1}};
  const std::vector<GraphLaunch> at_once = {{.graph = 1}, {.graph = 0, .overlaps = true}};
  EXPECT_EQ(verdict(id, false, {.launches = in_order}), Verdict::Right);
  // Whether graphs that may overlap do is the device's choice.
  Verdict overlapping = Verdict::NotRun;
  for (int attempt = 0; attempt < 5 && overlapping != Verdict::Wrong; ++attempt) {
    overlapping = verdict(id, false, {.launches = at_once});
  }
  EXPECT_EQ(overlapping, Verdict::Wrong);
  EXPECT_EQ(verdict(id, false, {.fresh = {{"workspace of the layer", 1}}}), Verdict::Right);
  EXPECT_EQ(verdict(id, true, {.launches = at_once}), Verdict::Right);
  EXPECT_EQ(verdict(id, true, {.launches = {{.graph = 1}, {.graph = 0}}}), Verdict::Right);
}

TEST_F(Cures, TheOrderOfReplays) {
  const char* id = "replays-out-of-order";
  const std::vector<GraphLaunch> as_captured = {
      {.graph = 0}, {.graph = 1}, {.graph = 2}, {.graph = 3}};
  EXPECT_EQ(verdict(id, false, {.launches = as_captured}), Verdict::Right);
  EXPECT_EQ(
      verdict(id, false, {.fresh = {{"saved by micro-batch 2", 2}, {"saved by micro-batch 2", 3}}}),
      Verdict::Right);
  // Of the twin, forward 2, forward 1, backward 2, backward 1.
  EXPECT_EQ(
      verdict(id, true, {.launches = {{.graph = 1}, {.graph = 0}, {.graph = 3}, {.graph = 2}}}),
      Verdict::Right);
}

TEST_F(Cures, AGraphForEveryLaunch) {
  const char* id = "one-scale-for-all";
  EXPECT_EQ(verdict(id, false, {.captured_per_launch = true}), Verdict::Right);
  const Snapshot plain = snapshot(id, false);
  ASSERT_EQ(plain.graphs.size(), 2U);
  EXPECT_EQ(plain.launches.size(), 8U);
  EXPECT_EQ(plain.graphs[1].variant_of, 0);
  EXPECT_EQ(plain.graphs[1].changed, kNextLaunch);
}

TEST_F(Cures, LaunchesThatTheStepDoesNotHaveAreRefused) {
  const auto refused = run("replays-out-of-order", false, {.launches = {{.graph = 0}}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, engine::ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace profiling

// Markers of replays that stand still, as frames.
#include <gmock/gmock.h>

#include "app/attach/hang_watch.h"
#include "tests/support/observe.h"

namespace profiling {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ObservingMarkers : public testing::Test {
 protected:
  /// Kernel nodes with these parents. The driver may list a node before one that it waits for.
  void instantiated(std::uint64_t number, const std::vector<std::int32_t>& parents,
                    const std::vector<std::pair<int, int>>& edges) {
    const auto count = static_cast<std::uint32_t>(parents.size());
    spool_.add(spool::GraphBegan{.graph = number,
                                 .exec = 0xE0 + number,
                                 .source = 0,
                                 .reason = spool::GraphReason::Instantiated,
                                 .nodes = count});
    for (std::uint32_t n = 0; n < count; ++n) {
      spool::Node node{};
      node.graph = number;
      node.node = 0x100 * number + n;
      node.index = static_cast<std::int32_t>(n);
      node.parent = parents[n];
      spool_.add(node);
    }
    std::string bytes;
    for (const auto& [from, to] : edges) {
      const spool::Edge edge{.from = from, .to = to, .type = spool::EdgeType::Full};
      bytes.append(reinterpret_cast<const char*>(&edge), sizeof edge);
    }
    spool_.add(
        spool::Edges{
            .graph = number, .count = static_cast<std::uint32_t>(edges.size()), .unused = 0},
        bytes);
    spool_.add(spool::GraphRead{.graph = number, .nodes = count, .result = 0});
  }
  /// Of each node of the top level, in the order of their frames: has it ended?
  std::uint64_t state(std::uint64_t number, const std::vector<bool>& ended) {
    std::string bits((ended.size() + 7) / 8, '\0');
    for (std::size_t n = 0; n < ended.size(); ++n) {
      if (ended[n]) bits[n / 8] = static_cast<char>(bits[n / 8] | 1 << n % 8);
    }
    return spool_.add(
        spool::MarkerState{
            .graph = number, .nodes = static_cast<std::uint32_t>(ended.size()), .unused = 0},
        bits);
  }

  HandMadeSpool spool_;
};

TEST_F(ObservingMarkers, StatesFollowTheOrderOfTheSnapshot) {
  // 2 -> 0 -> 1 -> 3: the snapshot has them in this order.
  instantiated(1, {-1, -1, -1, -1}, {{2, 0}, {0, 1}, {1, 3}});
  const std::uint64_t at = state(1, {true, false, true, false});
  const ObservedProcess process = observe(spool_);
  const std::vector<ObservedReplay> replays = process.replays_since(at);
  ASSERT_EQ(replays.size(), 1U);
  EXPECT_EQ(replays[0].graph, 1U);
  EXPECT_EQ(replays[0].seen, at);
  EXPECT_THAT(replays[0].nodes, ElementsAre(NodeState::Done, NodeState::Done, NodeState::Running,
                                            NodeState::NotReached));
  EXPECT_EQ(replays[0].last_finished, 1);
  EXPECT_THAT(process.replays_since(at + 1), IsEmpty());
}

TEST_F(ObservingMarkers, NodesOfChildGraphsHaveNone) {
  instantiated(1, {-1, 0, 0, -1}, {{0, 3}});
  state(1, {true, false});
  const std::vector<ObservedReplay> replays = observe(spool_).replays_since(1);
  ASSERT_EQ(replays.size(), 1U);
  EXPECT_THAT(replays[0].nodes, ElementsAre(NodeState::Done, NodeState::Unmarked,
                                            NodeState::Unmarked, NodeState::Running));
}

TEST_F(ObservingMarkers, FramesThatDoNotFitTheGraphAreLeftOut) {
  instantiated(1, {-1, -1}, {{0, 1}});
  state(1, {true});
  state(1, {true, false, false});
  state(7, {true, false});
  EXPECT_THAT(observe(spool_).replays_since(0), IsEmpty());
  state(1, {true, true});
  // Updated to another graph, whose nodes have no state yet.
  instantiated(1, {-1}, {});
  EXPECT_THAT(observe(spool_).replays_since(0), IsEmpty());
}

TEST_F(ObservingMarkers, NodesThatWaitForEachOtherAreNoGraph) {
  instantiated(1, {-1, -1, -1}, {{0, 1}, {1, 0}, {1, 2}});
  state(1, {true, true, true});
  EXPECT_THAT(observe(spool_).replays_since(0), IsEmpty());
}

TEST_F(ObservingMarkers, AReplayThatMovedOnIsForgotten) {
  std::vector<std::int32_t> parents(20, -1);
  std::vector<bool> ended(20, true);
  ended[17] = false;
  instantiated(1, parents, {});
  state(1, ended);
  std::vector<ObservedReplay> replays = observe(spool_).replays_since(0);
  ASSERT_EQ(replays.size(), 1U);
  EXPECT_EQ(replays[0].nodes[17], NodeState::Running);
  EXPECT_EQ(replays[0].nodes[18], NodeState::Done);
  state(1, {});
  EXPECT_THAT(observe(spool_).replays_since(0), IsEmpty());
}

TEST_F(ObservingMarkers, AHangIsWhereAReplayStandsStill) {
  instantiated(1, {-1, -1}, {{0, 1}});
  instantiated(2, {-1}, {});
  instantiated(3, {-1}, {});
  const std::string call = "cuGraphClone";
  for (const std::uint64_t marked : {1, 3})
    spool_.add(spool::GraphMarked{
        .graph = marked, .markers = 2, .result = 0, .why_bytes = 0, .unused = 0});
  spool_.add(spool::GraphMarked{.graph = 2,
                                .markers = 0,
                                .result = 801,
                                .why_bytes = static_cast<std::uint32_t>(call.size()),
                                .unused = 0},
             call);
  const std::uint64_t at = state(1, {true, false});
  const ObservedProcess process = observe(spool_);
  const Snapshot snapshot = process.snapshot();
  const std::vector<GraphSnapshot>& graphs = snapshot.graphs;
  SpoolState counts;
  counts.graphs = {{.exec = 0xE1, .graph = 1, .launches = 5, .last_launch = 50, .last_stream = 7},
                   {.exec = 0xE2, .graph = 2, .launches = 9, .last_launch = 90, .last_stream = 7},
                   {.exec = 0xE3, .graph = 3, .launches = 9, .last_launch = 80, .last_stream = 8}};
  OpenWait wait{.thread = 1, .call = spool::WaitCall::StreamSynchronize, .since = at, .stream = 7};
  const auto stall = [&] {
    counts.waits = {wait};
    return app::hang_record(process, counts, snapshot, wait, at + 5, 1, {}).outcome.stall.at(0);
  };
  Stall found = stall();
  EXPECT_EQ(graphs[static_cast<std::size_t>(found.graph)].name, "graph 1");
  EXPECT_THAT(found.nodes, ElementsAre(NodeState::Done, NodeState::Running));
  EXPECT_EQ(found.last_finished, 0);
  EXPECT_THAT(found.evidence, HasSubstr("1 node finished, 1 running, 0 not reached"));
  // Before the wait began, the replay may have ended since.
  wait.since = at + 1;
  found = stall();
  EXPECT_EQ(graphs[static_cast<std::size_t>(found.graph)].name, "graph 2");
  EXPECT_THAT(found.nodes, IsEmpty());
  EXPECT_THAT(found.evidence, HasSubstr("CUDA copies no graph with memory nodes"));
  wait.stream = 8;
  EXPECT_THAT(stall().evidence,
              HasSubstr("It has markers, but no replay of it was seen standing still"));
}

}  // namespace
}  // namespace profiling

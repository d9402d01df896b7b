// Which nodes of a hung replay get a row of its timeline: where it stands is always seen.
#include "app/gui/doctor/stall_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace app {
namespace {

using profiling::NodeState;

std::vector<NodeState> board(std::size_t done, std::size_t running, std::size_t waiting) {
  std::vector<NodeState> nodes(done, NodeState::Done);
  nodes.insert(nodes.end(), running, NodeState::Running);
  nodes.insert(nodes.end(), waiting, NodeState::NotReached);
  return nodes;
}

int nodes_of(const std::vector<StallRow>& rows) {
  return std::accumulate(rows.begin(), rows.end(), 0,
                         [](int sum, const StallRow& row) { return sum + row.count; });
}

TEST(StallRows, EveryNodeHasItsRowWhereThereIsRoom) {
  const std::vector<StallRow> rows = stall_rows(board(2, 1, 3), 8);
  ASSERT_EQ(rows.size(), 6U);
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].node, static_cast<int>(i));
  EXPECT_EQ(rows[0].place, 0);
  EXPECT_EQ(rows[1].place, 1);
  EXPECT_EQ(rows[2].state, NodeState::Running);
  EXPECT_EQ(rows[5].state, NodeState::NotReached);
}

TEST(StallRows, TheNodesAroundTheRunningOneKeepTheirRows) {
  const std::vector<StallRow> rows = stall_rows(board(5000, 1, 5000), 10);
  EXPECT_LE(rows.size(), 10U);
  EXPECT_EQ(nodes_of(rows), 10001);
  const auto running = std::find_if(rows.begin(), rows.end(), [](const StallRow& row) {
    return row.state == NodeState::Running;
  });
  ASSERT_NE(running, rows.end());
  EXPECT_EQ(running->node, 5000);
  EXPECT_EQ((running - 1)->node, 4999) << "finished last";
  EXPECT_EQ((running + 1)->node, 5001) << "would have come next";
  EXPECT_EQ(rows.front().node, -1);
  EXPECT_EQ(rows.back().node, -1);
}

TEST(StallRows, BranchesMayFinishInAnyOrder) {
  const std::vector<StallRow> rows =
      stall_rows({NodeState::Done, NodeState::NotReached, NodeState::Unmarked, NodeState::Running,
                  NodeState::Done},
                 20);
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[1].node, 4);
  EXPECT_EQ(rows[2].node, 3);
  EXPECT_EQ(rows[3].node, 1);
  EXPECT_EQ(rows[4].state, NodeState::Unmarked);
}

TEST(StallRows, NoNodeIsLostAndNoRowIsTooMany) {
  for (const std::size_t done : {0U, 1U, 7U, 40U}) {
    for (const std::size_t running : {0U, 1U, 2U, 30U}) {
      for (const std::size_t waiting : {0U, 1U, 9U, 50U}) {
        for (const std::size_t most : {0U, 8U, 9U, 16U, 200U}) {
          std::vector<NodeState> nodes = board(done, running, waiting);
          nodes.push_back(NodeState::Unmarked);
          const std::vector<StallRow> rows = stall_rows(nodes, most);
          EXPECT_EQ(nodes_of(rows), static_cast<int>(nodes.size()));
          EXPECT_LE(rows.size(), std::max<std::size_t>(most, 8));
        }
      }
    }
  }
  EXPECT_TRUE(stall_rows({}, 8).empty());
}

}  // namespace
}  // namespace app

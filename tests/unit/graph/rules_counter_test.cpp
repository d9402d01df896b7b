#include <gmock/gmock.h>

#include "tests/unit/graph/hand_made_snapshot.h"
#include "tests/unit/graph/rule_checks.h"

namespace profiling {
namespace {

using engine::AllocationRole;
using testing::ElementsAre;

TEST(UnresetCounter, NothingResetsIt) {
  HandMade made;
  const int node = made.kernel("barrier", {made.allocate("arrived", AllocationRole::Counter, 4)});
  const std::vector<Finding> findings = diagnose(made.snapshot, {});
  ASSERT_EQ(findings.size(), 1U);
  expect_complete(findings[0]);
  EXPECT_EQ(findings[0].rule, "unreset-counter");
  EXPECT_EQ(findings[0].confidence, Confidence::Likely);
  EXPECT_THAT(findings[0].nodes, ElementsAre(NodeRef{0, node}));
  EXPECT_EQ(findings[0].proof.cures.filled, (std::vector<FilledMemory>{{"arrived", 0}}));
}

TEST(UnresetCounter, AMemsetBeforeOrAfterIsHealthy) {
  for (const bool ahead : {true, false}) {
    HandMade made;
    const std::uint64_t counter = made.allocate("arrived", AllocationRole::Counter, 64);
    if (ahead) {
      made.kernel("barrier", {counter + 4}, {made.memset(counter, 64)});
    } else {
      made.memset(counter, 64, {made.kernel("barrier", {counter + 4})});
    }
    EXPECT_TRUE(diagnose(made.snapshot, {}).empty());
  }
}

TEST(UnresetCounter, AMemsetOfOtherWordsDoesNotHelp) {
  HandMade made;
  const std::uint64_t counter = made.allocate("arrived", AllocationRole::Counter, 64);
  made.kernel("barrier", {counter + 4}, {made.memset(counter, 4)});
  EXPECT_EQ(of_rule(diagnose(made.snapshot, {}), "unreset-counter").size(), 1U);
}

TEST(UnresetCounter, TicketsResetThemselves) {
  HandMade made;
  made.kernel("quantize", {made.allocate("tickets", AllocationRole::Tickets, 8)});
  EXPECT_TRUE(diagnose(made.snapshot, {}).empty());
}

TEST(UnfreedAllocation, IsLikelyWithoutAFreeNode) {
  HandMade made;
  const int node = made.node(NodeType::MemAlloc, MemAllocNode{.address = 0x1000, .bytes = 64});
  const std::vector<Finding> findings = diagnose(made.snapshot, {});
  ASSERT_EQ(findings.size(), 1U);
  expect_complete(findings[0]);
  EXPECT_EQ(findings[0].rule, "unfreed-allocation");
  EXPECT_EQ(findings[0].confidence, Confidence::Likely);
  EXPECT_TRUE(findings[0].proof.cures.free_on_launch);
  made.node(NodeType::MemFree, MemFreeNode{.address = 0x1000}, {node});
  EXPECT_TRUE(diagnose(made.snapshot, {}).empty());
}

TEST(UnfreedAllocation, AnotherGraphMayFreeIt) {
  HandMade made;
  made.node(NodeType::MemAlloc, MemAllocNode{.address = 0x1000, .bytes = 64});
  made.graph("backward");
  made.node(NodeType::MemFree, MemFreeNode{.address = 0x1000});
  EXPECT_TRUE(diagnose(made.snapshot, {}).empty());
}

}  // namespace
}  // namespace profiling

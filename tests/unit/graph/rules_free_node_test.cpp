#include <gmock/gmock.h>

#include "profiling/hazards/snapshot/reachability.h"
#include "tests/unit/graph/hand_made_snapshot.h"
#include "tests/unit/graph/rule_checks.h"

namespace profiling {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kBlock = 0x7f1000000000;

std::vector<Finding> uses_found(const HandMade& made) {
  EXPECT_TRUE(check_snapshot(made.snapshot).ok());
  return of_rule(diagnose(made.snapshot, {}), "used-after-free-node");
}
int allocates(HandMade& made, const std::vector<int>& after = {}) {
  return made.node(NodeType::MemAlloc, MemAllocNode{.address = kBlock, .bytes = 4096}, after);
}
int frees(HandMade& made, const std::vector<int>& after = {}) {
  return made.node(NodeType::MemFree, MemFreeNode{.address = kBlock}, after);
}

TEST(UsedAfterFreeNode, ALaterUseIsLikely) {
  HandMade made;
  const int made_at = allocates(made);
  const int free = frees(made, {made.kernel("fill", {kBlock}, {made_at})});
  made.kernel("read", {kBlock + 64}, {free});
  const std::vector<Finding> findings = uses_found(made);
  ASSERT_EQ(findings.size(), 1U);
  expect_complete(findings[0]);
  EXPECT_EQ(findings[0].confidence, Confidence::Likely);
  EXPECT_EQ(findings[0].nodes, std::vector<NodeRef>({{0, 2}, {0, 3}}));
  EXPECT_THAT(findings[0].title, HasSubstr("node 3 (read) uses memory that node 2"));
  EXPECT_THAT(findings[0].title, HasSubstr("frees before"));
}

TEST(UsedAfterFreeNode, AUseInNoOrderWithTheFree) {
  HandMade made;
  const int made_at = allocates(made);
  const int fill = made.kernel("fill", {kBlock}, {made_at});
  frees(made, {fill});
  made.memcpy({.source = kBlock, .target = 0x7f2000000000, .bytes = 64}, {fill});
  const std::vector<Finding> findings = uses_found(made);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings[0].title, HasSubstr("in no fixed order"));
  EXPECT_EQ(findings[0].missing_order, "no path from node 3 to node 2");
}

TEST(UsedAfterFreeNode, NoneForUsesBeforeItAndForMemoryThatIsGivenAgain) {
  HandMade made;
  const int free = frees(made, {made.kernel("fill", {kBlock}, {allocates(made)})});
  EXPECT_THAT(uses_found(made), IsEmpty());
  const int again = allocates(made, {free});
  frees(made, {made.kernel("other", {kBlock}, {again})});
  made.kernel("elsewhere", {kBlock + 4096}, {free});
  EXPECT_THAT(uses_found(made), IsEmpty());
}

TEST(UsedAfterFreeNode, MemoryOfAnotherGraph) {
  HandMade made;
  made.kernel("fill", {kBlock}, {allocates(made)});
  made.graph("second");
  made.memset(kBlock, 64, {frees(made)});
  EXPECT_EQ(uses_found(made).size(), 1U);
}

TEST(UsedAfterFreeNode, PartOfAStructureIsPossible) {
  HandMade made;
  const int free = frees(made, {allocates(made)});
  const int user = made.kernel("read", {kBlock, 1}, {free});
  made.kernel_at(user).slots = {{.offset = 0, .bytes = 16}};
  const std::vector<Finding> findings = uses_found(made);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].confidence, Confidence::Possible);
}

TEST(ConditionalBodies, NodesOfTwoBodiesNeverRunTogether) {
  HandMade made;
  const int branch =
      made.node(NodeType::Conditional, ConditionalNode{.condition = Condition::If, .bodies = 2});
  const std::uint64_t block = made.allocate("y", engine::AllocationRole::Output, 4096);
  const auto in_body = [&](int node, int body) {
    made.graph().nodes[static_cast<std::size_t>(node)].parent = branch;
    made.graph().nodes[static_cast<std::size_t>(node)].body = body;
    return node;
  };
  const int one = in_body(made.memset(block, 64), 0);
  const int other = in_body(made.kernel("write", {block}), 1);
  const Reachability order(made.graph());
  EXPECT_TRUE(order.exclusive(one, other));
  EXPECT_FALSE(order.exclusive(one, branch));
  EXPECT_THAT(of_rule(diagnose(made.snapshot, {}), "unordered-access"), IsEmpty());
  in_body(other, 0);
  EXPECT_EQ(of_rule(diagnose(made.snapshot, {}), "unordered-access").size(), 1U);
}

}  // namespace
}  // namespace profiling

#include <gmock/gmock.h>

#include "tests/unit/graph/hand_made_snapshot.h"
#include "tests/unit/graph/rule_checks.h"

namespace profiling {
namespace {

using engine::AllocationRole;
using testing::HasSubstr;

TEST(FreedMemory, FreedAfterTheCapture) {
  HandMade made;
  const std::uint64_t block = made.allocate("workspace", AllocationRole::Workspace, 4096);
  made.allocation("workspace").freed_at = 150;
  made.allocate_at(block, "user tensor", AllocationRole::Output, 2048).allocated_at = 151;
  const int node = made.kernel("product", {block + 8});
  const std::vector<Finding> findings = diagnose(made.snapshot, {});
  ASSERT_EQ(findings.size(), 1U);
  expect_complete(findings[0]);
  EXPECT_EQ(findings[0].rule, "freed-memory");
  EXPECT_EQ(findings[0].confidence, Confidence::Likely);
  EXPECT_EQ(findings[0].proof.cures.moved, (std::vector<MovedMemory>{{{0, node}, "workspace"}}));
  EXPECT_THAT(findings[0].evidence, testing::Contains(HasSubstr("user tensor")));
}

TEST(FreedMemory, ACachedTensorIsHarmlessUntilAnotherOneGetsItsMemory) {
  HandMade made;
  const std::uint64_t segment = made.allocate("segment", AllocationRole::Unknown, 4096);
  made.allocate_at(segment, "tensor", AllocationRole::Cached, 512).freed_at = 150;
  made.allocation("tensor").freed_where = "train.py:8 step";
  made.kernel("product", {segment + 8});
  made.snapshot.graphs[0].launches = 2;
  made.snapshot.graphs[0].last_launch = 200;
  std::vector<Finding> findings = diagnose(made.snapshot, {});
  ASSERT_EQ(findings.size(), 1U);
  expect_complete(findings[0]);
  EXPECT_EQ(findings[0].confidence, Confidence::Possible);
  EXPECT_THAT(findings[0].evidence, testing::Contains("Freed by train.py:8 step."));
  engine::Allocation& next = made.allocate_at(segment, "next tensor", AllocationRole::Cached, 1024);
  next.allocated_at = 201;  // after the last launch
  EXPECT_EQ(diagnose(made.snapshot, {})[0].confidence, Confidence::Possible);
  next.allocated_at = 199;
  EXPECT_EQ(diagnose(made.snapshot, {})[0].confidence, Confidence::Likely);
  next.allocated_at = 201;
  made.allocation("segment").freed_at = 180;
  EXPECT_EQ(diagnose(made.snapshot, {})[0].confidence, Confidence::Likely);
}

TEST(FreedMemory, RegrownDuringTheCapture) {
  HandMade made;
  const std::uint64_t small = made.allocate("workspace, 4 KiB", AllocationRole::Workspace, 4096);
  made.allocation("workspace, 4 KiB").freed_at = 105;
  const std::uint64_t large = made.allocate("workspace, 8 KiB", AllocationRole::Workspace, 8192);
  made.allocation("workspace, 8 KiB").allocated_at = 106;
  const int first = made.kernel("first product", {small});
  made.kernel("second product", {large}, {first});
  const std::vector<Finding> findings = diagnose(made.snapshot, {});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].confidence, Confidence::Likely);
  EXPECT_THAT(findings[0].title, HasSubstr("regrown during capture"));
  EXPECT_THAT(findings[0].nodes, testing::ElementsAre(NodeRef{0, first}));
}

TEST(FreedMemory, LiveMemoryIsHealthy) {
  HandMade made;
  const std::uint64_t block = made.allocate("workspace", AllocationRole::Workspace, 4096);
  made.kernel("product", {block});
  made.allocate("gone", AllocationRole::Output, 64);
  made.allocation("gone").freed_at = 50;  // of no node
  EXPECT_TRUE(diagnose(made.snapshot, {}).empty());
}

TEST(FreedMemory, LeftoversInStructuresAreIgnored) {
  HandMade made;
  const std::uint64_t old = made.allocate("of an earlier step", AllocationRole::Output, 4096);
  made.allocation("of an earlier step").freed_at = 50;
  const int node = made.kernel("product", {old, 1});
  std::vector<Finding> findings = diagnose(made.snapshot, {});
  ASSERT_EQ(findings.size(), 1U);  // a separate parameter may be unused
  EXPECT_EQ(findings[0].confidence, Confidence::Possible);
  made.kernel_at(node).slots = {{.offset = 0, .bytes = 16}};
  EXPECT_TRUE(diagnose(made.snapshot, {}).empty());
  made.memset(old, 64, {node});
  findings = diagnose(made.snapshot, {});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].confidence, Confidence::Likely);
}

TEST(PoolAlias, TheLaterGraphGotTheEarlierOnesBlock) {
  HandMade made;
  const std::uint64_t saved = made.allocate("saved activation", AllocationRole::Quantized, 4096);
  made.allocation("saved activation").freed_at = 112;
  const int writer = made.kernel("quantize", {saved});
  made.graph("backward");
  made.allocate_at(saved, "scratch", AllocationRole::Workspace, 1024).allocated_at = 113;
  const int scratch = made.kernel("dgrad", {saved});
  const std::vector<Finding> findings = diagnose(made.snapshot, {});
  ASSERT_EQ(findings.size(), 1U);
  expect_complete(findings[0]);
  EXPECT_EQ(findings[0].rule, "pool-alias");
  EXPECT_EQ(findings[0].confidence, Confidence::Likely);
  EXPECT_THAT(findings[0].nodes, testing::ElementsAre(NodeRef{0, writer}, NodeRef{1, scratch}));
  EXPECT_EQ(findings[0].proof.cures.moved, (std::vector<MovedMemory>{{{1, scratch}, "scratch"}}));
}

TEST(PoolAlias, SeparateBlocksAreHealthy) {
  HandMade made;
  const std::uint64_t saved = made.allocate("saved activation", AllocationRole::Quantized, 4096);
  made.kernel("quantize", {saved});
  made.graph("backward");
  made.kernel("dgrad", {made.allocate("scratch", AllocationRole::Workspace, 1024), saved});
  EXPECT_TRUE(diagnose(made.snapshot, {}).empty());
}

}  // namespace
}  // namespace profiling

#include <gmock/gmock.h>

#include "tests/unit/graph/hand_made_snapshot.h"
#include "tests/unit/graph/rule_checks.h"

namespace profiling {
namespace {

using engine::AllocationRole;

/// A producer and a consumer of one allocation with a programmatic edge between them.
struct Pair : HandMade {
  explicit Pair(AllocationRole role = AllocationRole::Quantized) {
    const std::uint64_t hidden = allocate("hidden", role, 4096);
    producer = kernel("producer", {hidden});
    consumer = kernel("consumer", {hidden});
    edge(producer, consumer, EdgeKind::Programmatic);
  }
  Known& waits() { return kernel_at(consumer).waits_for_programmatic; }
  int producer = 0;
  int consumer = 0;
};

TEST(UnwaitedEdges, AConsumerThatDoesNotWait) {
  Pair made;
  made.waits() = Known::No;
  const std::vector<Finding> findings = diagnose(made.snapshot, {});
  ASSERT_EQ(findings.size(), 1U);
  expect_complete(findings[0]);
  EXPECT_EQ(findings[0].rule, "programmatic-without-wait");
  EXPECT_EQ(findings[0].confidence, Confidence::Likely);
  EXPECT_EQ(findings[0].accesses.size(), 2U);
  EXPECT_FALSE(findings[0].missing_order.empty());
  using Order = std::vector<OrderedNodes>;
  EXPECT_EQ(findings[0].proof.cures.ordered, (Order{{{0, made.producer}, {0, made.consumer}}}));
}

TEST(UnwaitedEdges, UnknownIsPossibleAndAWaitIsHealthy) {
  Pair made;
  EXPECT_EQ(diagnose(made.snapshot, {}).at(0).confidence, Confidence::Possible);
  made.waits() = Known::Yes;
  EXPECT_TRUE(diagnose(made.snapshot, {}).empty());
}

TEST(UnwaitedEdges, PartsOfMemoryWithoutAPurposeArePossible) {
  HandMade made;
  const std::uint64_t segment = made.allocate("segment", AllocationRole::Unknown, 1 << 20);
  const int producer = made.kernel("producer", {segment});
  const int consumer = made.kernel("consumer", {segment + 4096});
  made.edge(producer, consumer, EdgeKind::Programmatic);
  made.kernel_at(consumer).waits_for_programmatic = Known::No;
  EXPECT_EQ(diagnose(made.snapshot, {}).at(0).confidence, Confidence::Possible);
  made.snapshot.graphs[0].nodes[static_cast<std::size_t>(consumer)].parameters =
      kernel_of({segment});
  made.kernel_at(consumer).waits_for_programmatic = Known::No;
  EXPECT_EQ(diagnose(made.snapshot, {}).at(0).confidence, Confidence::Likely);
}

TEST(UnwaitedEdges, AnAdditionalFullPathIsHealthy) {
  Pair made;
  made.waits() = Known::No;
  made.edge(made.producer, made.consumer);
  EXPECT_TRUE(diagnose(made.snapshot, {}).empty());
}

TEST(UnwaitedEdges, ReadOnlyMemoryNeedsNoOrder) {
  Pair made(AllocationRole::Input);
  EXPECT_TRUE(diagnose(made.snapshot, {}).empty());
}

TEST(UnwaitedEdges, AWaitDoesNotHelpALaunchOrder) {
  Pair made;
  made.waits() = Known::Yes;
  made.graph().edges[0].kind = EdgeKind::LaunchOrder;
  EXPECT_EQ(diagnose(made.snapshot, {}).at(0).confidence, Confidence::Likely);
}

TEST(UnwaitedEdges, TopologyAloneIsPossible) {
  Pair made;
  made.snapshot.ledger.clear();
  made.graph().degraded = true;
  for (SnapshotNode& node : made.graph().nodes) {
    std::get<KernelNode>(node.parameters).parameters.clear();
  }
  const std::vector<Finding> findings = diagnose(made.snapshot, {});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].confidence, Confidence::Possible);
}

}  // namespace
}  // namespace profiling

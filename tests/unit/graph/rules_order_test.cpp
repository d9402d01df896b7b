#include <gmock/gmock.h>

#include "profiling/hazards/snapshot/reachability.h"
#include "tests/unit/graph/hand_made_snapshot.h"
#include "tests/unit/graph/rule_checks.h"

namespace profiling {
namespace {

using engine::AllocationRole;
using engine::Stage;
using testing::ElementsAre;

Finding only(const HandMade& made) {
  const std::vector<Finding> findings = diagnose(made.snapshot, {});
  EXPECT_EQ(findings.size(), 1U);
  if (findings.empty()) return {};
  expect_complete(findings[0]);
  EXPECT_EQ(findings[0].rule, "unordered-access");
  EXPECT_FALSE(findings[0].missing_order.empty());
  return findings[0];
}

TEST(UnorderedAccess, AReaderThatDoesNotWaitForTheWriter) {
  HandMade made;
  const std::uint64_t hidden = made.allocate("hidden", AllocationRole::Quantized, 4096);
  // The reader is listed first: the stage determines which one comes first.
  const int reader = made.kernel("product", {hidden});
  made.graph().nodes.back().stage = Stage::Fprop;
  const int writer = made.kernel("quantize", {hidden});
  made.graph().nodes.back().stage = Stage::Quantize;
  const Finding finding = only(made);
  EXPECT_EQ(finding.confidence, Confidence::Likely);
  EXPECT_THAT(finding.proof.shows.delayed, ElementsAre(NodeRef{0, writer}));
  using Order = std::vector<OrderedNodes>;
  EXPECT_EQ(finding.proof.cures.ordered, (Order{{{0, writer}, {0, reader}}}));
  EXPECT_EQ(finding.proof.cures.delayed, finding.proof.shows.delayed);
}

TEST(LeftUnsearched, NamesWhatIsTooLargeAndTheLimit) {
  HandMade made;
  made.kernel("product", {});
  EXPECT_THAT(left_unsearched(made.snapshot), testing::IsEmpty());
  for (int node = 1; node < Reachability::kMaxClosure; ++node) made.kernel("product", {});
  EXPECT_THAT(left_unsearched(made.snapshot), testing::IsEmpty());
  made.kernel("product", {});
  EXPECT_THAT(left_unsearched(made.snapshot),
              ElementsAre(testing::HasSubstr("it has 32769 nodes, more than 32768")));
  made.snapshot.graphs.back().nodes.resize(1);
  made.snapshot.launches.resize(512);
  EXPECT_THAT(left_unsearched(made.snapshot), testing::IsEmpty());
  made.snapshot.launches.resize(513);
  EXPECT_THAT(left_unsearched(made.snapshot),
              ElementsAre(testing::HasSubstr("there are 513, more than 512")));
  made.snapshot.launches.clear();
  made.snapshot.pools = {{.address = 0x1000, .bytes = 0x1000}};
  made.snapshot.ledger.resize(5000);
  EXPECT_THAT(left_unsearched(made.snapshot), testing::IsEmpty());
  for (engine::Allocation& piece : made.snapshot.ledger) piece.address = 0x1800;
  EXPECT_THAT(left_unsearched(made.snapshot), ElementsAre(testing::HasSubstr("of the 5000")));
}

TEST(UnorderedAccess, AnEdgeMakesItHealthy) {
  HandMade made;
  const std::uint64_t hidden = made.allocate("hidden", AllocationRole::Quantized, 4096);
  made.kernel("product", {hidden}, {made.kernel("quantize", {hidden})});
  EXPECT_TRUE(diagnose(made.snapshot, {}).empty());
}

TEST(UnorderedAccess, ReadersAfterOneWriterAreHealthy) {
  HandMade made;
  const std::uint64_t hidden = made.allocate("hidden", AllocationRole::Quantized, 4096);
  const int writer = made.kernel("quantize", {hidden});
  made.kernel("dgrad", {hidden + 64}, {writer});
  made.kernel("wgrad", {hidden + 64}, {writer});
  EXPECT_TRUE(diagnose(made.snapshot, {}).empty());
}

TEST(UnorderedAccess, AMemsetOnItsOwnBranch) {
  HandMade made;
  const std::uint64_t sums = made.allocate("sums", AllocationRole::Unknown, 4096);
  made.kernel("accumulate", {sums + 128});
  const int clear = made.memset(sums, 256);
  const Finding finding = only(made);
  EXPECT_EQ(finding.confidence, Confidence::Likely);
  EXPECT_THAT(finding.proof.shows.delayed, ElementsAre(NodeRef{0, clear}));
}

TEST(UnorderedAccess, ForkedExpertsWriteTheirOwnParts) {
  HandMade made;
  const std::uint64_t x = made.allocate("x", AllocationRole::Input, 1 << 16);
  const std::uint64_t y = made.allocate("y", AllocationRole::Output, 1 << 16);
  const int fork = made.kernel("offsets", {made.allocate("splits", AllocationRole::Splits, 64)});
  std::vector<int> lanes;
  for (std::uint64_t expert = 0; expert < 8; ++expert) {
    const std::uint64_t lane = made.allocate("lane", AllocationRole::Workspace, 4096);
    const int cleared = made.memset(lane, 4, {fork});
    lanes.push_back(made.kernel("product", {x, y + 4096 * expert, lane}, {cleared}));
  }
  made.memset(y + 4096 * 8, 64, {fork});  // an expert without rows
  made.kernel("join", {y}, lanes);
  // The last kernel reads all of y but does not wait for the memset: only one word is known.
  EXPECT_TRUE(diagnose(made.snapshot, {}).empty());
}

TEST(UnorderedAccess, AWorkspaceOfTwoLanes) {
  HandMade made;
  const std::uint64_t lane = made.allocate("lane", AllocationRole::Workspace, 4096);
  made.kernel("product", {lane});
  made.kernel("product", {lane});
  EXPECT_EQ(only(made).confidence, Confidence::Likely);
}

TEST(UnorderedAccess, SignalsBetweenKernelsArePossible) {
  HandMade made;
  const std::uint64_t flag = made.allocate("flag", AllocationRole::Counter, 4);
  const int clear = made.memset(flag, 4);
  made.kernel("signal", {flag}, {clear});
  made.kernel("wait", {flag}, {clear});
  EXPECT_EQ(only(made).confidence, Confidence::Possible);
}

TEST(UnorderedAccess, OverlappingMemsetsOfATextFile) {
  HandMade made;
  made.graph().degraded = true;
  made.memset(0x1000, 64);
  made.memset(0x1020, 64);
  made.memset(0x2000, 64);
  EXPECT_EQ(only(made).confidence, Confidence::Possible);
}

TEST(UnorderedAccess, ProgrammaticEdgesAreLeftToTheirOwnRule) {
  HandMade made;
  const std::uint64_t hidden = made.allocate("hidden", AllocationRole::Quantized, 4096);
  const int first = made.kernel("first", {hidden});
  const int second = made.kernel("second", {hidden});
  made.edge(first, second, EdgeKind::Programmatic);
  const std::vector<Finding> findings = diagnose(made.snapshot, {});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "programmatic-without-wait");
}

}  // namespace
}  // namespace profiling

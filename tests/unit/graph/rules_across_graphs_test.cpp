// What crosses graphs: released between captures, replayed at the same time, in another order, or
// several times.
#include <gmock/gmock.h>

#include "profiling/hazards/snapshot/launch_order.h"
#include "tests/unit/graph/hand_made_snapshot.h"
#include "tests/unit/graph/rule_checks.h"

namespace profiling {
namespace {

using engine::AllocationRole;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Graphs are captured at 100 to 110, 120 to 130, 140 to 150, 160 to 170.
constexpr std::uint64_t kAfterFirst = 112;

std::vector<Finding> diagnosed(const HandMade& made) {
  std::vector<Finding> findings = diagnose(made.snapshot, {});
  for (const Finding& finding : findings) expect_complete(finding);
  return findings;
}

// ---- Launches -----------------------------------------------------------------------------------

TEST(LaunchOrder, WithoutAListEveryGraphIsLaunchedOnceButNoVariant) {
  HandMade made;
  made.graph("backward");
  made.graph("forward, other splits").variant_of = 0;
  EXPECT_THAT(launches_of(made.snapshot),
              ElementsAre(GraphLaunch{.graph = 0}, GraphLaunch{.graph = 1}));
  made.snapshot.launches = {{.graph = 1}, {.graph = 0}};
  EXPECT_EQ(launches_of(made.snapshot), made.snapshot.launches);
}

TEST(LaunchOrder, OverlappingLaunchesAreOneWave) {
  const std::vector<GraphLaunch> launches = {
      {.graph = 0}, {.graph = 1, .overlaps = true}, {.graph = 2}, {.graph = 0}};
  EXPECT_THAT(waves_of(launches), ElementsAre(0, 0, 1, 2));
  EXPECT_THAT(waves_of(std::vector<GraphLaunch>{{.graph = 0, .overlaps = true}}), ElementsAre(0));
}

TEST(LaunchOrder, OnlyGraphsOfTheStepAreLaunched) {
  HandMade made;
  made.graph("other inputs").variant_of = 0;
  EXPECT_TRUE(check_snapshot(made.snapshot).ok());
  for (const int graph : {-1, 1, 2}) {
    made.snapshot.launches = {{.graph = graph}};
    EXPECT_FALSE(check_snapshot(made.snapshot).ok()) << graph;
  }
  made.snapshot.launches = {{.graph = 0}};
  made.snapshot.pools = {{.address = ~std::uint64_t{0}, .bytes = 2}};
  EXPECT_FALSE(check_snapshot(made.snapshot).ok());
}

// ---- Released between the captures --------------------------------------------------------------

HandMade saved_and_freed() {
  HandMade made;
  const std::uint64_t saved = made.allocate("saved activation", AllocationRole::Quantized, 4096);
  made.allocation("saved activation").freed_at = kAfterFirst;
  made.kernel("quantize", {saved});
  made.graph("backward");
  made.kernel("wgrad", {saved + 64});
  return made;
}

TEST(FreedBetweenGraphs, OneFindingForAllGraphsThatHoldTheBlock) {
  const HandMade made = saved_and_freed();
  const std::vector<Finding> findings = diagnosed(made);
  ASSERT_EQ(findings.size(), 1U);
  const Finding& finding = findings[0];
  EXPECT_EQ(finding.rule, "freed-between-graphs");
  EXPECT_EQ(finding.hazard, 18);
  EXPECT_EQ(finding.confidence, Confidence::Likely);
  EXPECT_THAT(finding.nodes, ElementsAre(NodeRef{0, 0}, NodeRef{1, 0}));
  const std::vector<FilledMemory> filled = {{.owner = "saved activation", .value = 0xFF}};
  EXPECT_EQ(finding.proof.shows, (Experiment{.filled_between = filled}));
  EXPECT_EQ(finding.proof.cures,
            (Experiment{.fresh = {{"saved activation", 0}, {"saved activation", 1}},
                        .filled_between = filled}));
}

TEST(FreedBetweenGraphs, TheBlocksNextOwnerIsNotOverwritten) {
  HandMade made = saved_and_freed();
  const std::uint64_t saved = made.allocation("saved activation").address;
  // Taken once both graphs were captured, or the second one would hold it.
  made.allocate_at(saved, "user tensor", AllocationRole::Output, 1024).allocated_at = 140;
  const std::vector<Finding> findings = diagnosed(made);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_TRUE(findings[0].proof.shows.is_plain());
  EXPECT_TRUE(findings[0].proof.cures.filled_between.empty());
  EXPECT_EQ(findings[0].proof.cures.fresh.size(), 2U);
  EXPECT_THAT(findings[0].evidence, Contains(HasSubstr("user tensor")));
}

TEST(FreedBetweenGraphs, MemoryThatStaysOrIsFreedAfterBothIsNotOfThisKind) {
  HandMade made = saved_and_freed();
  made.allocation("saved activation").freed_at = 0;
  EXPECT_THAT(diagnosed(made), IsEmpty());
  made.allocation("saved activation").freed_at = 140;
  for (const Finding& finding : diagnosed(made)) EXPECT_EQ(finding.rule, "freed-memory");
}

// ---- Replayed at the same time ------------------------------------------------------------------

HandMade two_graphs_with(AllocationRole role) {
  HandMade made;
  const std::uint64_t shared = made.allocate("shared", role, 4096);
  made.kernel("product", {shared});
  made.graph("shared expert");
  made.kernel("other product", {shared});
  made.snapshot.launches = {{.graph = 0}, {.graph = 1, .overlaps = true}};
  return made;
}

TEST(OverlappingGraphs, TheyShareAWorkspace) {
  const std::vector<Finding> findings = diagnosed(two_graphs_with(AllocationRole::Workspace));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "overlapping-graphs");
  EXPECT_EQ(findings[0].hazard, 11);
  EXPECT_EQ(findings[0].confidence, Confidence::Likely);
  EXPECT_TRUE(findings[0].proof.shows.is_plain());
  EXPECT_EQ(findings[0].proof.cures, (Experiment{.fresh = {{.owner = "shared", .graph = 1}}}));
  EXPECT_FALSE(findings[0].missing_order.empty());
}

TEST(OverlappingGraphs, InOrderTheyMayShareIt) {
  HandMade made = two_graphs_with(AllocationRole::Workspace);
  made.snapshot.launches = {};
  EXPECT_THAT(diagnosed(made), IsEmpty());
  made.snapshot.launches = {{.graph = 1}, {.graph = 0}};
  EXPECT_THAT(diagnosed(made), IsEmpty());
  // One graph twice: its second launch waits for the first.
  made.snapshot.launches = {{.graph = 0}, {.graph = 0, .overlaps = true}, {.graph = 1}};
  EXPECT_THAT(of_rule(diagnosed(made), "overlapping-graphs"), IsEmpty());
}

TEST(OverlappingGraphs, WhatBothMayOnlyReadIsHealthy) {
  for (const AllocationRole role : {AllocationRole::Input, AllocationRole::Quantized,
                                    AllocationRole::PointerArray, AllocationRole::Check}) {
    EXPECT_THAT(diagnosed(two_graphs_with(role)), IsEmpty()) << static_cast<int>(role);
  }
}

TEST(OverlappingGraphs, AMemsetWritesWhateverItIs) {
  HandMade made = two_graphs_with(AllocationRole::Quantized);
  made.memset(made.allocation("shared").address, 64, {0});
  const std::vector<Finding> findings = diagnosed(made);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].confidence, Confidence::Likely);
}

// ---- Replayed in another order than captured ----------------------------------------------------

/// Forward 1, backward 1, forward 2, backward 2, captured in this order; what each forward saves is
/// given back by its backward.
HandMade micro_batches() {
  HandMade made;
  const std::uint64_t block = made.allocate("saved 1", AllocationRole::Quantized, 4096);
  made.allocation("saved 1").allocated_at = 101;
  made.allocation("saved 1").freed_at = 125;
  made.allocate_at(block, "saved 2", AllocationRole::Quantized, 4096).allocated_at = 141;
  made.allocation("saved 2").freed_at = 165;
  made.graph().name = "forward 1";
  made.kernel("quantize", {block});
  for (const char* name : {"backward 1", "forward 2", "backward 2"}) {
    made.graph(name);
    made.kernel("kernel", {block});
  }
  made.snapshot.pools = {{.address = block, .bytes = 1 << 20}};
  return made;
}

TEST(ReplayOrder, OutOfTheOrderOfTheCaptures) {
  HandMade made = micro_batches();
  made.snapshot.launches = {{.graph = 0}, {.graph = 2}, {.graph = 1}, {.graph = 3}};
  const std::vector<Finding> findings = diagnosed(made);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "replay-order");
  EXPECT_EQ(findings[0].hazard, 4);
  EXPECT_EQ(findings[0].confidence, Confidence::Likely);
  EXPECT_EQ(findings[0].nodes.size(), 4U);
  EXPECT_TRUE(findings[0].proof.shows.is_plain());
  EXPECT_EQ(findings[0].proof.cures, (Experiment{.fresh = {{"saved 2", 2}, {"saved 2", 3}}}));
}

TEST(ReplayOrder, InTheOrderOfTheCapturesThePoolMayReuseIt) {
  HandMade made = micro_batches();
  EXPECT_THAT(diagnosed(made), IsEmpty());
  made.snapshot.launches = {{.graph = 2}, {.graph = 3}, {.graph = 0}, {.graph = 1}};
  EXPECT_THAT(diagnosed(made), IsEmpty());
  // The first backward and the second forward at the same time.
  made.snapshot.launches = {
      {.graph = 0}, {.graph = 1}, {.graph = 2, .overlaps = true}, {.graph = 3}};
  EXPECT_EQ(of_rule(diagnosed(made), "replay-order").size(), 1U);
}

TEST(ReplayOrder, OnlyAPoolOfTheGraphsKeepsFreedMemory) {
  HandMade made = micro_batches();
  made.snapshot.pools = {};
  EXPECT_THAT(diagnosed(made), Contains(testing::Field(&Finding::confidence, Confidence::Likely)));
}

TEST(ReplayOrder, AGraphsOwnTemporaryMemoryMayBeAnyonesBefore) {
  // Forward's temporary memory becomes backward's, and what forward saves lies elsewhere.
  HandMade made;
  const std::uint64_t block = made.allocate("temporary", AllocationRole::Quantized, 4096);
  made.allocation("temporary").allocated_at = 101;
  made.allocation("temporary").freed_at = 103;
  made.allocate_at(block, "saved", AllocationRole::Quantized, 4096).allocated_at = 104;
  made.allocation("saved").freed_at = 123;
  made.allocate_at(block, "gradients", AllocationRole::Quantized, 4096).allocated_at = 124;
  made.allocation("gradients").freed_at = 126;
  made.kernel("cast", {block});
  made.graph("backward");
  made.kernel("wgrad", {block});
  made.snapshot.pools = {{.address = block, .bytes = 1 << 20}};
  EXPECT_THAT(diagnosed(made), IsEmpty());
}

TEST(ReplayOrder, WhatAnEarlierCallLeftInAStructureIsNoHolder) {
  // The first graph's temporary memory is the second's, and the third was captured after both.
  HandMade made;
  const std::uint64_t block = made.allocate("temporary", AllocationRole::Quantized, 8192);
  made.allocation("temporary").allocated_at = 101;
  made.allocation("temporary").freed_at = 109;
  made.allocate_at(block, "of the second", AllocationRole::Quantized, 4096).allocated_at = 121;
  made.allocation("of the second").freed_at = 129;
  made.kernel("cast", {block});
  made.graph("second");
  made.kernel("cast", {block});
  made.graph("third");
  const int product = made.kernel("product", {block + 4096});
  made.snapshot.pools = {{.address = block, .bytes = 1 << 20}};
  EXPECT_EQ(of_rule(diagnosed(made), "replay-order").size(), 1U) << "a parameter of its own";
  made.kernel_at(product).slots = {{.offset = 0, .bytes = 64}};
  made.kernel_at(product).parameters.resize(64);
  EXPECT_THAT(of_rule(diagnosed(made), "replay-order"), IsEmpty());
}

TEST(ReplayOrder, GraphsOfSeveralLaunchesAreOnlyPossible) {
  HandMade made = micro_batches();
  made.snapshot.launches = {{.graph = 0}, {.graph = 2}, {.graph = 1},
                            {.graph = 3}, {.graph = 0}, {.graph = 1}};
  const std::vector<Finding> findings = of_rule(diagnosed(made), "replay-order");
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].confidence, Confidence::Possible);
}

// ---- Replayed several times ---------------------------------------------------------------------

HandMade launched_twice(const std::vector<std::uint64_t>& first,
                        const std::vector<std::uint64_t>& next) {
  HandMade made;
  made.allocate_at(0x1000, "scales", AllocationRole::Quantized, 256);
  made.allocate_at(0x2000, "another", AllocationRole::Quantized, 256);
  made.graph().name = "expert";
  made.kernel("quantize", first);
  GraphSnapshot& variant = made.graph("expert");
  variant.variant_of = 0;
  variant.changed = kNextLaunch;
  made.kernel("quantize", next);
  made.snapshot.launches = {{.graph = 0}, {.graph = 0}};
  return made;
}

TEST(BakedIndex, ThePlaceInAnArrayDependsOnTheLaunch) {
  const std::vector<Finding> findings = diagnosed(launched_twice({0x1000, 7}, {0x1004, 7}));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "baked-index");
  EXPECT_EQ(findings[0].hazard, 8);
  EXPECT_EQ(findings[0].confidence, Confidence::Likely);
  EXPECT_THAT(findings[0].nodes, ElementsAre(NodeRef{0, 0}));
  EXPECT_THAT(findings[0].title, HasSubstr("2 times"));
  EXPECT_THAT(findings[0].evidence, Contains(HasSubstr("byte 4 of \"scales\"")));
  EXPECT_TRUE(findings[0].proof.shows.is_plain());
  EXPECT_EQ(findings[0].proof.cures, (Experiment{.captured_per_launch = true}));
}

TEST(BakedIndex, AScalarToo) {
  const std::vector<Finding> findings = diagnosed(launched_twice({0x1000, 7}, {0x1000, 8}));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "baked-index");
  EXPECT_EQ(findings[0].confidence, Confidence::Likely);
}

TEST(BakedIndex, OtherMemoryMayBeEquallyGood) {
  const std::vector<Finding> findings = diagnosed(launched_twice({0x1000}, {0x2000}));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].confidence, Confidence::Possible);
}

TEST(BakedIndex, EqualCapturesAreHealthy) {
  EXPECT_THAT(diagnosed(launched_twice({0x1000, 7}, {0x1000, 7})), IsEmpty());
}

}  // namespace
}  // namespace profiling

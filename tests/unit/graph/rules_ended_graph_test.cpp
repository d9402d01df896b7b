// Memory that goes with one graph while another one uses it.
#include <gmock/gmock.h>

#include "profiling/hazards/snapshot/foreign_memory.h"
#include "tests/unit/graph/hand_made_snapshot.h"
#include "tests/unit/graph/rule_checks.h"

namespace profiling {
namespace {

using engine::AllocationRole;
using testing::Contains;
using testing::HasSubstr;

/// A graph that was destroyed at 260, and one that was captured later and launched until 290. Both
/// hold an address in a piece of the first one's pool.
struct TwoGraphs : HandMade {
  TwoGraphs() {
    segment = allocate("segment", AllocationRole::Unknown, 1 << 20);
    allocation("segment").allocated_at = 101;
    allocation("segment").made_for = "first";
    allocate_at(segment, "piece", AllocationRole::Cached, 4096).allocated_at = 102;
    piece().made_for = "first";
    snapshot.graphs[0].name = "first";
    snapshot.graphs[0].destroyed_at = 260;
    snapshot.graphs[0].over = true;
    snapshot.graphs[0].launches = 3;
    snapshot.graphs[0].last_launch = 250;
    kernel("fill", {segment});
    graph("second").capture_began = 210;
    graph().capture_ended = 220;
    graph().launches = 5;
    graph().last_launch = 290;
    kernel("read", {segment + 8});
  }
  engine::Allocation& piece() { return allocation("piece"); }
  std::vector<Finding> found() const { return diagnose(snapshot, {}); }

  std::uint64_t segment = 0;
};

TEST(EndedGraph, TheSegmentOfItsPoolGoesBack) {
  TwoGraphs made;
  EXPECT_TRUE(made.found().empty());  // a library still has the piece
  made.piece().freed_at = 265;
  made.allocation("segment").freed_at = 270;
  const std::vector<Finding> findings = made.found();
  ASSERT_EQ(findings.size(), 1U);
  expect_complete(findings[0]);
  EXPECT_EQ(findings[0].rule, "freed-memory");
  EXPECT_EQ(findings[0].confidence, Confidence::Likely);
  EXPECT_EQ(
      findings[0].title,
      "\"segment\" (1 MiB), made in the capture of \"first\", went with it at 260, but node 0 "
      "(read) of graph \"second\" holds its address");
  EXPECT_THAT(findings[0].evidence, Contains(HasSubstr("and destroyed at 260")));
  // As the snapshot of a program that was watched for long.
  leave_out_earlier_allocations(made.snapshot, 290);
  EXPECT_THAT(made.found().at(0).title, testing::StartsWith("\"segment\""));
}

TEST(EndedGraph, ThePieceIsHarmlessUntilAnotherOneGetsItsMemory) {
  TwoGraphs made;
  made.piece().freed_at = 265;
  std::vector<Finding> findings = made.found();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].confidence, Confidence::Possible);
  EXPECT_THAT(findings[0].title, HasSubstr("\"piece\" (cached, 4 KiB), made in the capture of"));
  made.allocate_at(made.segment, "next", AllocationRole::Cached, 4096).allocated_at = 280;
  findings = made.found();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].confidence, Confidence::Likely);
}

TEST(EndedGraph, APieceIsItsPoolsAsLongAsTheGraphExists) {
  TwoGraphs made;
  made.piece().freed_at = 230;
  made.snapshot.graphs[0].destroyed_at = 0;
  made.snapshot.graphs[0].over = false;
  made.snapshot.graphs[0].last_launch = 290;
  EXPECT_TRUE(made.found().empty());
  // Also where the pool gave it to the other graph's capture.
  made.piece().freed_at = 205;
  made.allocate_at(made.segment, "again", AllocationRole::Cached, 4096).allocated_at = 212;
  made.allocation("again").made_for = "second";
  made.allocation("again").freed_at = 215;
  EXPECT_TRUE(made.found().empty());
  // The segment is another matter.
  made.allocation("segment").freed_at = 280;
  EXPECT_EQ(made.found().size(), 2U);
}

TEST(EndedGraph, AGraphThatSharesThePoolKeepsIt) {
  TwoGraphs made;
  made.piece().freed_at = 265;
  made.allocate_at(made.segment + 8192, "own", AllocationRole::Cached, 4096).allocated_at = 215;
  made.allocation("own").made_for = "second";
  EXPECT_TRUE(made.found().empty());
}

TEST(EndedGraph, AGraphThatIsNotLaunchedAfterwardsIsHealthy) {
  TwoGraphs made;
  made.piece().freed_at = 265;
  made.allocation("segment").freed_at = 270;
  made.graph().last_launch = 255;
  EXPECT_TRUE(made.found().empty());
}

TEST(EndedGraph, MemoryThatItWasTheFirstToUse) {
  HandMade made;
  const std::uint64_t block = made.allocate("workspace", AllocationRole::Unknown, 4096);
  made.allocation("workspace").freed_at = 270;
  made.kernel("fill", {block});
  made.snapshot.graphs[0].name = "first";
  made.snapshot.graphs[0].destroyed_at = 260;
  made.snapshot.graphs[0].over = true;
  made.graph("second").capture_began = 210;
  made.graph().capture_ended = 220;
  made.graph().launches = 2;
  made.graph().last_launch = 290;
  made.kernel("read", {block});
  EXPECT_THAT(diagnose(made.snapshot, {}).at(0).title,
              HasSubstr("first used by \"first\", went after it at 260"));
  // Freed under both of them: neither took it along.
  made.allocation("workspace").freed_at = 255;
  EXPECT_THAT(diagnose(made.snapshot, {}).at(0).title, HasSubstr("\"workspace\" (4 KiB) is freed"));
}

}  // namespace
}  // namespace profiling

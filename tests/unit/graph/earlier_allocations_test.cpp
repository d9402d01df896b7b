#include "profiling/hazards/snapshot/foreign_memory.h"

#include <gmock/gmock.h>

#include "profiling/hazards/snapshot/accesses.h"
#include "tests/unit/graph/hand_made_snapshot.h"

namespace profiling {
namespace {

using engine::AllocationRole;

TEST(EarlierAllocations, OnlyThoseThatNoNodeRefersToAreLeftOut) {
  HandMade made;
  const std::uint64_t stale = made.allocate("stale workspace", AllocationRole::Workspace, 4096);
  made.allocate("of an earlier run", AllocationRole::Input, 4096);
  made.allocate("of this run's set-up", AllocationRole::Check, 4096);
  made.allocate("unused and live", AllocationRole::Input, 4096);
  const std::uint64_t output = made.allocate("y", AllocationRole::Output, 4096);
  made.allocation("stale workspace").freed_at = 40;
  made.allocation("of an earlier run").freed_at = 50;
  made.allocation("of this run's set-up").freed_at = 51;
  made.kernel("k", {output, stale + 64});

  leave_out_earlier_allocations(made.snapshot, 50);

  std::vector<std::string> left;
  for (const engine::Allocation& one : made.snapshot.ledger) left.push_back(one.owner);
  EXPECT_THAT(left, testing::ElementsAre("stale workspace", "of this run's set-up",
                                         "unused and live", "y"));
  // The words mean what they meant.
  const std::vector<Touch> touches = find_touches(made.snapshot, made.graph());
  ASSERT_EQ(touches.size(), 2U);
  EXPECT_EQ(to_access(made.snapshot, 0, touches[0]).owner, "y");
  EXPECT_EQ(to_access(made.snapshot, 0, touches[1]).owner, "stale workspace");
}

TEST(EarlierAllocations, WhoeverGotReleasedMemoryNextIsKept) {
  HandMade made;
  const std::uint64_t block = made.allocate("input", AllocationRole::Cached, 4096);
  made.allocation("input").freed_at = 20;
  for (const char* owner : {"next", "and so on"}) {
    made.allocate_at(block, owner, AllocationRole::Cached, 4096).allocated_at = 21;
    made.allocation(owner).freed_at = 30;
  }
  made.kernel("k", {block});
  made.graph().capture_began = 10;
  made.graph().capture_ended = 15;
  leave_out_earlier_allocations(made.snapshot, 50);
  ASSERT_EQ(made.snapshot.ledger.size(), 2U);
  EXPECT_EQ(made.snapshot.ledger[0].owner, "input");
  EXPECT_EQ(made.snapshot.ledger[1].owner, "next");
}

TEST(EarlierAllocations, WithoutAGraphOnlyTheTimeCounts) {
  HandMade made;
  made.allocate("gone", AllocationRole::Input, 256);
  made.allocate("here", AllocationRole::Input, 256);
  made.allocation("gone").freed_at = 30;
  made.snapshot.graphs.clear();
  leave_out_earlier_allocations(made.snapshot, 30);
  ASSERT_EQ(made.snapshot.ledger.size(), 1U);
  EXPECT_EQ(made.snapshot.ledger[0].owner, "here");
}

}  // namespace
}  // namespace profiling

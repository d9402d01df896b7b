// Memory that is not in the ledger: which words are queried, what is added, and that findings about
// it are never more than "possible".
#include <gmock/gmock.h>

#include "profiling/hazards/rules/diagnosis.h"
#include "profiling/hazards/snapshot/accesses.h"
#include "profiling/hazards/snapshot/foreign_memory.h"
#include "tests/unit/graph/hand_made_snapshot.h"

namespace profiling {
namespace {

using engine::AllocationRole;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kForeign = 0x7e0000000000;

void add(Snapshot& snapshot, std::uint64_t address, std::uint64_t bytes) {
  const ForeignRange range{.address = address, .bytes = bytes};
  add_foreign_memory(snapshot, {&range, 1}, AllocationRole::DriverKnown);
}

TEST(ForeignMemory, OnlyWordsWithoutAnEntryAreQueried) {
  HandMade made;
  const std::uint64_t x = made.allocate("X", AllocationRole::Input, 4096);
  made.kernel("product", {x + 8, kForeign, 7, ~std::uint64_t{0}, kForeign});
  made.memset(kForeign + 64, 8);
  made.memcpy({.source = x, .target = kForeign + 128, .bytes = 8});
  EXPECT_THAT(unlisted_words(made.snapshot), ElementsAre(kForeign, kForeign + 64, kForeign + 128));
}

TEST(ForeignMemory, EntriesFollowTheLedgersOwnAndNeverOverlapThem) {
  HandMade made;
  const std::uint64_t x = made.allocate("X", AllocationRole::Input, 4096);
  const Snapshot before = made.snapshot;
  add(made.snapshot, x - 4096, 8192);  // a pool's range around a block that has an owner
  add(made.snapshot, kForeign, 0);
  EXPECT_EQ(made.snapshot, before);
  add(made.snapshot, kForeign, 64);
  add(made.snapshot, kForeign + 64, 64);
  ASSERT_EQ(made.snapshot.ledger.size(), 3U);
  EXPECT_EQ(made.snapshot.ledger[1].owner, "foreign memory #1");
  EXPECT_EQ(made.snapshot.ledger[2].owner, "foreign memory #2");
  EXPECT_GT(made.snapshot.ledger[1].id, made.snapshot.ledger[0].id);
  made.kernel("product", {kForeign + 70});
  const std::vector<Touch> touches = find_touches(made.snapshot, made.graph());
  ASSERT_EQ(touches.size(), 1U);
  EXPECT_EQ(touches[0].allocation, 2);
}

TEST(ForeignMemory, AFreedBlockStillBelongsToItsOwner) {
  HandMade made;
  const std::uint64_t x = made.allocate("X", AllocationRole::Workspace, 4096);
  made.allocation("X").freed_at = 50;  // before the capture
  made.kernel("product", {x + 8});
  add(made.snapshot, x - 4096, 1 << 20);
  ASSERT_EQ(made.snapshot.ledger.size(), 2U);
  const std::vector<Touch> touches = find_touches(made.snapshot, made.graph());
  ASSERT_EQ(touches.size(), 1U);
  EXPECT_EQ(touches[0].allocation, 0);
}

TEST(ForeignMemory, TheGraphsOwnAllocationsAreKnown) {
  HandMade made;
  made.node(NodeType::MemAlloc, MemAllocNode{.address = kForeign, .bytes = 256});
  const std::vector<ForeignRange> ranges = graph_allocations(made.snapshot);
  ASSERT_EQ(ranges.size(), 1U);
  EXPECT_EQ(ranges[0].address, kForeign);
  EXPECT_EQ(ranges[0].bytes, 256U);
}

TEST(ForeignMemory, FindingsAboutItAreAtMostPossible) {
  HandMade made;
  made.kernel("accumulate", {kForeign + 128});
  made.memset(kForeign, 256);  // in either order
  add(made.snapshot, kForeign, 4096);
  std::vector<Finding> findings = diagnose(made.snapshot, {});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "unordered-access");
  EXPECT_EQ(findings[0].confidence, Confidence::Possible);
  ASSERT_FALSE(findings[0].evidence.empty());
  EXPECT_THAT(findings[0].evidence.back(), HasSubstr("does not belong to this program"));
  // The same with our own owner is likely: only foreign memory is doubted.
  made.snapshot.ledger.back().role = AllocationRole::Output;
  findings = diagnose(made.snapshot, {});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].confidence, Confidence::Likely);
}

TEST(ForeignMemory, KernelsThatShareItGetNoFinding) {
  HandMade made;
  made.kernel("grouped product", {kForeign, 1});
  made.kernel("grouped product", {kForeign, 2});
  add(made.snapshot, kForeign, 4096);
  EXPECT_THAT(diagnose(made.snapshot, {}), IsEmpty());
}

}  // namespace
}  // namespace profiling

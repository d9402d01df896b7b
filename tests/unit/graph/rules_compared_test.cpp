// What memory before and after replays shows, and what it must not be taken for.
#include <gmock/gmock.h>

#include "profiling/hazards/snapshot/compared_memory.h"
#include "tests/unit/graph/hand_made_snapshot.h"
#include "tests/unit/graph/rule_checks.h"

namespace profiling {
namespace {

using engine::AllocationRole;
using testing::Contains;
using testing::HasSubstr;

constexpr std::uint64_t kBytes = 1 << 20;

/// y = f(x), and a buffer that the graph does not know.
struct Compared : HandMade {
  Compared() {
    x = allocate("x", AllocationRole::Unknown, kBytes);
    y = allocate("y", AllocationRole::Unknown, kBytes);
    elsewhere = allocate("batch", AllocationRole::Unknown, kBytes);
    kernel("scale", {x, y});
    graph().launches = 6;
  }
  static ChangedMemory program(std::uint64_t address) {
    return {.address = address, .bytes = 4096, .by_program = true, .by_replay = false};
  }
  static ChangedMemory replay(std::uint64_t address) {
    return {.address = address, .bytes = 4096, .by_program = false, .by_replay = true};
  }
  /// Replay 1, in which everything is new, and `count` more, each with these changes.
  void replays(std::size_t count, const std::vector<ChangedMemory>& each) {
    graph().compared = {{.replay = 1, .hashed_bytes = 3 * kBytes, .changed = {replay(y)}}};
    for (std::size_t i = 0; i < count; ++i) {
      graph().compared.push_back(
          {.replay = i + 2, .hashed_bytes = 3 * kBytes, .partial = false, .changed = each});
    }
  }
  std::vector<Finding> found() const { return diagnose(snapshot, {}); }

  std::uint64_t x = 0;
  std::uint64_t y = 0;
  std::uint64_t elsewhere = 0;
};

TEST(ComparedReplays, ABatchThatGoesElsewhere) {
  Compared made;
  made.replays(3, {Compared::program(made.elsewhere)});
  const std::vector<Finding> findings = made.found();
  ASSERT_EQ(findings.size(), 1U);
  expect_complete(findings[0]);
  EXPECT_EQ(findings[0].rule, "stale-input");
  EXPECT_EQ(findings[0].confidence, Confidence::Possible);
  EXPECT_THAT(findings[0].title, HasSubstr("writes \"batch\" (1 MiB), which no graph reads, and "
                                           "not \"x\" (1 MiB)"));
  EXPECT_THAT(findings[0].evidence, Contains(HasSubstr("replays 2 to 4")));
}

TEST(ComparedReplays, FewerThanThreeSayNothing) {
  Compared made;
  made.replays(2, {Compared::program(made.elsewhere)});
  EXPECT_TRUE(made.found().empty());
  made.replays(2, {Compared::replay(made.x), Compared::replay(made.y)});
  EXPECT_TRUE(made.found().empty());
}

TEST(ComparedReplays, AnInputThatIsRefreshedAsWell) {
  Compared made;
  made.replays(4, {Compared::program(made.x), Compared::program(made.elsewhere)});
  EXPECT_TRUE(made.found().empty());
  made.replays(4, {Compared::program(made.x), Compared::replay(made.y)});
  EXPECT_TRUE(made.found().empty());
}

TEST(ComparedReplays, AnInputThatIsNoLongerRefreshed) {
  Compared made;
  made.kernel("scale", {made.elsewhere, made.y});
  const auto changes = [&](std::size_t both, std::size_t one) {
    made.replays(both + one, {Compared::program(made.x), Compared::replay(made.y)});
    for (std::size_t i = 1; i <= both; ++i)
      made.graph().compared[i].changed.push_back(Compared::program(made.elsewhere));
  };
  changes(2, 3);
  const std::vector<Finding> findings = made.found();
  ASSERT_EQ(findings.size(), 1U);
  expect_complete(findings[0]);
  EXPECT_EQ(findings[0].rule, "stale-input");
  EXPECT_EQ(findings[0].confidence, Confidence::Possible);
  EXPECT_THAT(findings[0].title,
              HasSubstr("reads \"batch\" (1 MiB), which the program refreshed up "
                        "to replay 3, and since then only \"x\" (1 MiB)"));
  changes(1, 4);  // filled once
  EXPECT_TRUE(made.found().empty());
  changes(3, 2);  // too few without it
  EXPECT_TRUE(made.found().empty());
  changes(5, 0);
  EXPECT_TRUE(made.found().empty());
}

TEST(ComparedReplays, LargeResultsAloneAreNoState) {
  Compared made;
  const std::uint64_t z = made.allocate("z", AllocationRole::Unknown, kBytes);
  made.kernel("add", {made.x, z});
  const auto large = [](std::uint64_t address) {
    return ChangedMemory{
        .address = address, .bytes = kBytes, .by_program = false, .by_replay = true};
  };
  made.replays(4, {large(made.y), large(z)});
  EXPECT_TRUE(made.found().empty());
  made.replays(4, {large(made.y), Compared::replay(z)});
  EXPECT_EQ(made.found().size(), 1U);
}

TEST(ComparedReplays, WhatWasMeasured) {
  Compared made;
  made.replays(
      3, {Compared::program(made.x), Compared::program(made.elsewhere), Compared::replay(made.y)});
  const MeasuredMemory measured = measured_memory(made.snapshot, made.graph());
  EXPECT_EQ(words_of(measured),
            "4 replays compared in 3 MiB: the newest changed 1 place (4 KiB) and reaches 1 input "
            "(1 MiB) that none changes, refreshed before 3 of them");
}

MemoryChanges changes_of(const Compared& made, std::size_t index) {
  const std::vector<int> reached =
      reached_memory(find_touches(made.snapshot, made.snapshot.graphs[0]));
  return memory_changes(made.snapshot, made.snapshot.graphs[0], reached).at(index);
}

TEST(ComparedReplays, HowOftenMemoryChanged) {
  Compared made;
  made.replays(3, {Compared::replay(made.y), Compared::program(made.elsewhere)});
  EXPECT_EQ(changes_of(made, 0), (MemoryChanges{.replays = 4, .preceded = 3}));
  EXPECT_EQ(changes_of(made, 1), (MemoryChanges{.replays = 4, .by_replays = 4, .preceded = 3}));
  EXPECT_EQ(changes_of(made, 2), (MemoryChanges{.replays = 4, .preceded = 3, .by_program = 3}));
  EXPECT_EQ(by_replays_text(changes_of(made, 1)), "4 of 4");
  EXPECT_EQ(by_program_text(changes_of(made, 2)), "3 of 3");
  EXPECT_EQ(by_program_text({.replays = 1}), "");
  // What is not hashed is not known.
  made.snapshot.ledger[0].space = engine::MemorySpace::PinnedHost;
  EXPECT_EQ(changes_of(made, 0), MemoryChanges());
  made.graph().compared.clear();
  EXPECT_TRUE(memory_changes(made.snapshot, made.graph(), {}).empty());
}

TEST(ComparedReplays, RangesThatOverlapAreFound) {
  Compared made;
  // The long one begins first and ends last.
  const ChangedMemory whole{.address = made.x, .bytes = 64 << 10, .by_program = true};
  made.replays(1, {whole, Compared::program(made.x + 4096)});
  EXPECT_EQ(changes_of(made, 0).by_program, 1U);
  made.snapshot.ledger[0].address += 32 << 10;
  EXPECT_EQ(changes_of(made, 0).by_program, 1U);
  made.snapshot.ledger[0].address += 32 << 10;
  EXPECT_EQ(changes_of(made, 0).by_program, 0U);
}

TEST(ComparedReplays, MemoryCountsWhileItHasItsOwner) {
  Compared made;
  made.replays(3, {Compared::replay(made.y), Compared::program(made.elsewhere)});
  for (std::size_t i = 0; i < 4; ++i) made.graph().compared[i].at = 300 + i;
  made.snapshot.ledger_clock = 400;
  engine::Allocation& batch = made.snapshot.ledger[2];
  batch.allocated_at = 302;
  EXPECT_EQ(changes_of(made, 2), (MemoryChanges{.replays = 2, .preceded = 2, .by_program = 2}));
  batch.freed_at = 303;
  EXPECT_EQ(changes_of(made, 2), (MemoryChanges{.replays = 1, .preceded = 1, .by_program = 1}));
  // A graph goes on with what it reaches, until somebody else gets it.
  engine::Allocation& y = made.snapshot.ledger[1];
  y.freed_at = 301;
  EXPECT_EQ(changes_of(made, 1).by_replays, 4U);
  engine::Allocation next = y;
  next.id = 99;
  next.allocated_at = 302;
  next.freed_at = 0;
  made.snapshot.ledger.push_back(next);
  EXPECT_EQ(changes_of(made, 1).by_replays, 2U);
  EXPECT_EQ(changes_of(made, 3).by_replays, 2U);
}

TEST(ComparedReplays, SentencesSayWhatWasCompared) {
  Compared made;
  EXPECT_EQ(compared_sentences(made.snapshot, made.graph()), "");
  made.replays(3, {});
  made.graph().compared.push_back({.replay = 16, .hashed_bytes = 4 * kBytes, .partial = true});
  EXPECT_EQ(compared_sentences(made.snapshot, made.graph()),
            "Memory compared before and after replays 1 to 4 and 16: 3 MiB to 4 MiB. In 1 of them "
            "not all memory or not all changes could be recorded.");
  made.snapshot.not_compared = "graphs of another context are not compared";
  made.graph().compared.resize(1);
  EXPECT_EQ(compared_sentences(made.snapshot, made.graph()),
            "Memory compared before and after replay 1: 3 MiB. Graphs of another context are not "
            "compared.");
}

TEST(ComparedReplays, ABufferOfAnotherSizeOrGraphIsNoInput) {
  Compared made;
  made.allocation("batch").bytes = kBytes / 2;
  made.replays(4, {Compared::program(made.elsewhere)});
  EXPECT_TRUE(made.found().empty());
  made.allocation("batch").bytes = kBytes;
  made.graph("second").capture_began = 210;
  made.kernel("other", {made.elsewhere});
  EXPECT_TRUE(made.found().empty());
}

TEST(ComparedReplays, WhatIsNotCompleteSaysNothing) {
  Compared made;
  made.replays(4, {Compared::program(made.elsewhere)});
  made.graph().compared[3].partial = true;
  EXPECT_TRUE(made.found().empty());
}

TEST(ComparedReplays, LongProgramsAreComparedInPairs) {
  Compared made;
  made.kernel("count", {made.allocate("counter", AllocationRole::Unknown, 4)});
  const std::uint64_t counter = made.allocation("counter").address;
  // Before the first of a pair, replays that were not compared have changed what they change.
  const std::vector<ChangedMemory> first = {Compared::program(made.y), Compared::program(counter),
                                            Compared::replay(made.y), Compared::replay(counter)};
  const std::vector<ChangedMemory> second = {Compared::replay(made.y), Compared::replay(counter)};
  made.replays(0, {});
  for (const std::uint64_t power : {16, 32, 64}) {
    made.graph().compared.push_back({.replay = power, .changed = first});
    made.graph().compared.push_back({.replay = power + 1, .changed = second});
  }
  const std::vector<Finding> findings = made.found();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "carried-over");
  EXPECT_THAT(findings[0].title, testing::StartsWith("Replays 17, 33 and 65 of "));
}

TEST(ComparedReplays, AStateThatResultsDependOn) {
  Compared made;
  made.kernel("count", {made.allocate("counter", AllocationRole::Unknown, 4)});
  const std::uint64_t counter = made.allocation("counter").address;
  made.replays(3, {Compared::replay(made.y), Compared::replay(counter)});
  const std::vector<Finding> findings = made.found();
  ASSERT_EQ(findings.size(), 1U);
  expect_complete(findings[0]);
  EXPECT_EQ(findings[0].rule, "carried-over");
  EXPECT_EQ(findings[0].confidence, Confidence::Possible);
  EXPECT_THAT(findings[0].evidence, Contains(HasSubstr("smallest first: \"counter\"")));
  // One that nothing depends on, such as a counter of steps.
  made.replays(3, {Compared::replay(counter)});
  EXPECT_TRUE(made.found().empty());
}

}  // namespace
}  // namespace profiling

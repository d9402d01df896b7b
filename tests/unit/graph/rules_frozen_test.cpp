#include <gmock/gmock.h>

#include "tests/unit/graph/hand_made_snapshot.h"
#include "tests/unit/graph/rule_checks.h"

namespace profiling {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kCode = 7;
constexpr std::uint64_t kTo = 0x7f0000000000;
constexpr std::uint64_t kFrom = 0x7f0000200000;

/// A graph with the kernel "dropout(to, from, seed)", launched five times, and launches before.
class FrozenValues : public testing::Test {
 protected:
  FrozenValues() {
    made_.allocate("to", engine::AllocationRole::Unknown, 4096);
    made_.allocate("from", engine::AllocationRole::Unknown, 4096);
    made_.graph().launches = 5;
  }
  int captured(std::uint64_t seed, std::uint64_t to = kTo) {
    const int node = made_.kernel("dropout", {to, kFrom, seed});
    made_.kernel_at(node).code = kCode;
    return node;
  }
  EagerLaunch& launched(std::uint64_t seed, std::uint64_t to = kTo) {
    made_.snapshot.eager.push_back({.code = kCode,
                                    .parameters = kernel_of({to, kFrom, seed}).parameters,
                                    .first_seen = 50 + made_.snapshot.eager.size(),
                                    .launches = 1});
    return made_.snapshot.eager.back();
  }
  void other_graph() {
    made_.graph("other");
    made_.graph().launches = 5;
  }
  std::vector<Finding> found() {
    EXPECT_TRUE(check_snapshot(made_.snapshot).ok());
    return of_rule(diagnose(made_.snapshot, {}), "frozen-value");
  }

  HandMade made_;
};

TEST_F(FrozenValues, AValueThatChangedBeforeTheCaptureIsPossible) {
  for (const std::uint64_t seed : {41, 42, 43}) launched(seed);
  captured(44);
  const std::vector<Finding> findings = found();
  ASSERT_EQ(findings.size(), 1U);
  expect_complete(findings[0]);
  EXPECT_EQ(findings[0].confidence, Confidence::Possible);
  EXPECT_EQ(findings[0].nodes, std::vector<NodeRef>({{0, 0}}));
  EXPECT_THAT(findings[0].title, HasSubstr("(dropout) uses 44 as parameter 2 (argument byte 16)"));
  EXPECT_THAT(findings[0].evidence, Contains(HasSubstr("had 41, 42, 43.")));
}

TEST_F(FrozenValues, TheLastValueMayBeTheCapturesOwn) {
  for (const std::uint64_t splits : {1, 2, 3}) launched(splits);
  captured(3);
  EXPECT_EQ(found().size(), 1U);
}

TEST_F(FrozenValues, OneFindingForAllGraphsWithTheKernel) {
  for (const std::uint64_t seed : {41, 42, 43}) launched(seed);
  captured(44);
  other_graph();
  captured(45);
  const std::vector<Finding> findings = found();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].nodes, std::vector<NodeRef>({{0, 0}, {1, 0}}));
  EXPECT_THAT(findings[0].title, HasSubstr("uses 44, 45 as"));
}

TEST_F(FrozenValues, AddressesAreAnotherRulesSubject) {
  // Eager launches on other memory each time, and the capture on its own.
  for (int i = 1; i < 4; ++i) launched(5, kTo + 256 * static_cast<std::uint64_t>(i));
  captured(5);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(FrozenValues, AValueThatTheGraphReadsFromMemoryIsNotFrozen) {
  // Eagerly a number, in the graph an address: so frameworks make random states replayable.
  for (const std::uint64_t seed : {41, 42, 43}) launched(seed);
  captured(kFrom + 128);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(FrozenValues, TheSameValueEverywhereIsAConstant) {
  launched(5).launches = 3;
  captured(5);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(FrozenValues, OneLaunchShowsNoChange) {
  launched(41);
  captured(42);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(FrozenValues, ConstantsOfSeveralPlacesAreInTheGraphToo) {
  for (const std::uint64_t salt : {7, 8, 9}) launched(salt);
  for (const std::uint64_t salt : {7, 8, 9}) captured(salt);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(FrozenValues, OtherSizesAndOtherMemoryAreOtherPlaces) {
  for (const std::uint32_t blocks : {2U, 3U, 4U}) launched(blocks).grid.x = blocks;
  for (int i = 1; i < 4; ++i) {
    const auto number = static_cast<std::uint64_t>(i);
    launched(20 + number, kTo + 256 * number);
  }
  captured(7);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(FrozenValues, LaunchesAfterTheCaptureDoNotCount) {
  for (const std::uint64_t seed : {41, 42, 43})
    launched(seed).first_seen = made_.graph().capture_began + 1;
  captured(44);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(FrozenValues, NoneIfTheProgramReplacesTheValue) {
  for (const std::uint64_t seed : {41, 42, 43}) launched(seed);
  const int node = captured(44);
  EXPECT_EQ(found().size(), 1U);
  made_.kernel_at(node).updated = true;
  EXPECT_THAT(found(), IsEmpty());
  made_.kernel_at(node).updated = false;
  made_.graph().launches = 1;  // or uses the graph once
  EXPECT_THAT(found(), IsEmpty());
  made_.graph().launches = 5;
  other_graph();  // or captures again
  captured(45);
  EXPECT_EQ(found().size(), 1U);
  made_.graph().over = true;
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(FrozenValues, CapturesThatDifferNeedOneLaunchMore) {
  captured(44);
  other_graph();
  captured(45);
  EXPECT_THAT(found(), IsEmpty());
  launched(43);
  const std::vector<Finding> findings = found();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings[0].evidence, Contains(HasSubstr("A launch before the captures had 43")));
}

TEST_F(FrozenValues, ACaptureForEachSizeIsHealthy) {
  for (const std::uint64_t rows : {8192, 1, 2}) launched(rows);  // a trial run, then warm-up
  captured(1);
  other_graph();
  captured(2);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(FrozenValues, TensorMapsAreMemory) {
  // "gather(map, count)": a count for each map is healthy, one that changes with the same map is
  // not.
  const auto words = [](std::uint64_t map, std::uint64_t count) {
    std::vector<std::uint64_t> all(17, 0);
    for (std::size_t i = 0; i < 16; ++i) all[i] = map * (i + 1);
    all[16] = count;
    return all;
  };
  const auto launched_with = [&](std::uint64_t map, std::uint64_t count) {
    made_.snapshot.eager.push_back({.code = kCode,
                                    .parameters = kernel_of(words(map, count)).parameters,
                                    .first_seen = 50 + made_.snapshot.eager.size(),
                                    .launches = 1});
  };
  for (const std::uint64_t map : {11, 12, 13}) launched_with(map, map + 20);
  KernelNode& kernel = made_.kernel_at(made_.kernel("gather", words(14, 34)));
  kernel.code = kCode;
  kernel.slots = {{.offset = 0, .bytes = 128}, {.offset = 128, .bytes = 8}};
  kernel.tensor_maps = {{.offset = 0, .address = kFrom, .bytes = 1024}};
  EXPECT_THAT(found(), IsEmpty());
  for (const std::uint64_t count : {31, 32, 33}) launched_with(14, count);
  const std::vector<Finding> findings = found();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings[0].title, HasSubstr("uses 34 as parameter 1 (argument byte 128)"));
}

TEST_F(FrozenValues, InAStructureOnlyRisingValues) {
  const auto in_structure = [&](const std::vector<std::uint64_t>& before, std::uint64_t baked) {
    made_.snapshot.eager.clear();
    made_.graph().nodes.clear();
    for (const std::uint64_t value : before) launched(value);
    made_.kernel_at(captured(baked)).slots = {{.offset = 0, .bytes = 24}};
    return found();
  };
  const std::vector<Finding> rising = in_structure({41, 42, 43}, 44);
  ASSERT_EQ(rising.size(), 1U);
  EXPECT_THAT(rising[0].evidence, Contains(HasSubstr("part of a structure")));
  EXPECT_THAT(in_structure({41, 7, 43}, 44), IsEmpty());
  EXPECT_THAT(in_structure({41, 42, 43}, 12), IsEmpty());
  EXPECT_THAT(in_structure({41, 42}, 43), IsEmpty());
}

}  // namespace
}  // namespace profiling

// Comparisons of memory before and after replays, as frames.
#include <gmock/gmock.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tests/support/observe.h"

namespace profiling {
namespace {

using spool::ChangedRange;

class ObservingComparisons : public testing::Test {
 protected:
  void instantiated(std::uint64_t number) {
    spool_.add(spool::GraphBegan{.graph = number,
                                 .exec = 0xE0 + number,
                                 .source = 0,
                                 .reason = spool::GraphReason::Instantiated,
                                 .nodes = 0});
    spool_.add(spool::GraphRead{.graph = number, .nodes = 0, .result = 0});
  }
  void compared(std::uint64_t number, std::uint64_t replay, const std::vector<ChangedRange>& ranges,
                std::uint32_t claimed = 0) {
    const auto raw = std::as_bytes(std::span(ranges));
    const std::string bytes(reinterpret_cast<const char*>(raw.data()), raw.size());
    const auto count = static_cast<std::uint32_t>(ranges.size());
    spool_.add(spool::ReplayCompared{.exec = 0xE0 + number,
                                     .replay = replay,
                                     .bytes = 1 << 20,
                                     .ranges = claimed == 0 ? count : claimed,
                                     .cut = 0},
               bytes);
  }
  static ChangedRange range(std::uint64_t address, std::uint32_t changed) {
    return {.address = address, .bytes = 4096, .changed = changed, .unused = 0};
  }

  HandMadeSpool spool_;
};

TEST_F(ObservingComparisons, WhatAnotherGraphWritesIsAChangeInBetween) {
  instantiated(1);
  instantiated(2);
  compared(1, 1, {});
  compared(2, 1, {range(0x9000, ChangedRange::kByReplay)});
  compared(1, 2, {range(0x1000, ChangedRange::kByReplay)});
  compared(1, 3, {range(0x1000, ChangedRange::kByProgram)});
  const ObservedProcess process = observe(spool_);
  EXPECT_EQ(process.compared(), 4U);
  const Snapshot snapshot = process.snapshot();
  const std::vector<ComparedReplay>& first = snapshot.graphs.at(0).compared;
  ASSERT_EQ(first.size(), 3U);
  EXPECT_EQ(first[1].changed,
            (std::vector<ChangedMemory>{
                {.address = 0x1000, .bytes = 4096, .by_program = false, .by_replay = true},
                {.address = 0x9000, .bytes = 4096, .by_program = true, .by_replay = false}}));
  EXPECT_EQ(first[2].changed,
            (std::vector<ChangedMemory>{
                {.address = 0x1000, .bytes = 4096, .by_program = true, .by_replay = false}}));
  EXPECT_EQ(snapshot.graphs.at(1).compared.size(), 1U);
}

TEST_F(ObservingComparisons, FramesThatClaimMoreThanTheyHoldAreLeftOut) {
  instantiated(1);
  compared(1, 1, {range(0x1000, ChangedRange::kByReplay)}, 2);
  compared(1, 2, {}, spool::kMostChangedRanges + 1);
  compared(7, 3, {});  // no graph has this handle
  const ObservedProcess process = observe(spool_);
  EXPECT_TRUE(process.snapshot().graphs.at(0).compared.empty());
}

TEST_F(ObservingComparisons, TheEndOfComparisonsHasAReason) {
  const std::string call = "cuModuleLoadData";
  spool_.add(spool::ComparisonsStopped{.result = 218,
                                       .call_bytes = static_cast<std::uint32_t>(call.size())},
             call);
  EXPECT_EQ(observe(spool_).not_compared(),
            "replays are no longer compared: cuModuleLoadData gave error 218");
  spool_.add(spool::ComparisonsStopped{.result = 600, .call_bytes = 0});
  EXPECT_THAT(observe(spool_).not_compared(), testing::HasSubstr("within 30 s"));
}

TEST_F(ObservingComparisons, OtherContextsAndAResetAreTold) {
  spool_.add(spool::ComparisonsStopped{.result = 201, .call_bytes = 0});
  spool_.add(spool::ComparisonsStopped{.result = 709, .call_bytes = 0});
  const ObservedProcess process = observe(spool_);
  EXPECT_EQ(process.not_compared(),
            "graphs of another context are not compared; replays are not compared since the "
            "device's context was reset");
  EXPECT_EQ(process.snapshot().not_compared, process.not_compared());
}

}  // namespace
}  // namespace profiling

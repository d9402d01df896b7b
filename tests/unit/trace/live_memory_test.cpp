// Live memory is allocated and not yet released, device and host separately.
#include "profiling/trace/live_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace profiling {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Space = engine::MemorySpace;

MemoryEvent allocate(std::uint64_t address, std::uint64_t bytes, Space space = Space::Device) {
  return {
      .address = address, .bytes = bytes, .operation = MemoryOperation::Allocate, .space = space};
}

MemoryEvent release(std::uint64_t address) {
  return {.address = address, .operation = MemoryOperation::Release};
}

TEST(LiveMemory, FollowsAllocationsAndReleases) {
  const std::vector<MemoryEvent> events = {allocate(1, 100), allocate(2, 50), release(1),
                                           allocate(3, 7),   release(2),      release(3)};
  const LiveMemory live = live_memory(events);
  EXPECT_THAT(live.device_bytes, ElementsAre(100, 150, 50, 57, 7, 0));
  EXPECT_THAT(live.host_bytes, ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_EQ(live.unknown_releases, 0U);
}

TEST(LiveMemory, KeepsHostMemorySeparate) {
  const std::vector<MemoryEvent> events = {allocate(1, 100, Space::PinnedHost),
                                           allocate(2, 50, Space::Managed),
                                           allocate(3, 5, Space::Unknown), release(1)};
  const LiveMemory live = live_memory(events);
  EXPECT_THAT(live.device_bytes, ElementsAre(0, 50, 55, 55));
  EXPECT_THAT(live.host_bytes, ElementsAre(100, 100, 100, 0));
}

TEST(LiveMemory, ReleasesOfEarlierAllocationsDoNotCount) {
  const std::vector<MemoryEvent> events = {release(9), allocate(1, 8), release(9), release(1)};
  const LiveMemory live = live_memory(events);
  EXPECT_THAT(live.device_bytes, ElementsAre(0, 8, 8, 0));
  EXPECT_EQ(live.unknown_releases, 2U);
}

TEST(LiveMemory, AReusedAddressIsCountedOnce) {
  const std::vector<MemoryEvent> events = {allocate(1, 8), allocate(1, 100), release(1)};
  EXPECT_THAT(live_memory(events).device_bytes, ElementsAre(8, 100, 0));
}

TEST(LiveMemory, AddsUpPools) {
  std::vector<MemoryEvent> events = {allocate(1, 8), allocate(2, 8), release(1), allocate(3, 1)};
  events[0].pool = 70;
  events[0].pool_bytes = 64;
  events[1].pool = 71;
  events[1].pool_bytes = 32;
  events[2].pool = 70;
  events[2].pool_bytes = 0;
  events.push_back({.address = 71, .operation = MemoryOperation::EndPool});
  EXPECT_THAT(live_memory(events).pool_bytes, ElementsAre(64, 96, 32, 32, 0));
}

TEST(LiveMemory, BlocksAreUnreleasedAllocations) {
  const std::vector<MemoryEvent> events = {allocate(7, 8), allocate(1, 4), release(7),
                                           allocate(3, 2), allocate(3, 16)};
  const std::vector<LiveBlock> blocks = live_blocks(events);
  ASSERT_EQ(blocks.size(), 2U);
  EXPECT_EQ(blocks[0].address, 1U);
  EXPECT_EQ(blocks[0].bytes, 4U);
  EXPECT_EQ(blocks[1].address, 3U);
  EXPECT_EQ(blocks[1].bytes, 16U);
  EXPECT_THAT(live_blocks({}), IsEmpty());
}

TEST(LiveMemory, WithoutEventsIsEmpty) { EXPECT_THAT(live_memory({}).device_bytes, IsEmpty()); }

}  // namespace
}  // namespace profiling

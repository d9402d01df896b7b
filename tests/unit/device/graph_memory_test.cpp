// The pool of captured graphs needs no device: its blocks are host memory here.
#include "engine/device/graph_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/device/buffer.h"

namespace engine {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

std::shared_ptr<GraphMemory> host_memory(PoolSharing sharing) {
  return std::make_shared<GraphMemory>(sharing, [](std::int64_t bytes) {
    return BlockPool::create(bytes, MemorySpace::PageableHost);
  });
}

std::byte* take(GraphMemory& memory, std::int64_t bytes, TurnSpan when, const char* owner = "") {
  Result<std::byte*> taken = memory.take(bytes, {AllocationRole::Quantized, owner}, when);
  EXPECT_TRUE(taken.ok());
  return taken.value();
}

std::vector<std::string> live_owners(const GraphMemory& memory) {
  std::vector<std::string> owners;
  for (const Allocation& allocation : AllocationLedger::of_process().read()) {
    const bool ours = std::ranges::any_of(
        memory.ranges(), [&](const GraphPool& pool) { return pool.holds(allocation.address); });
    if (ours && allocation.live()) owners.push_back(allocation.owner);
  }
  std::ranges::sort(owners);
  return owners;
}

TEST(BlockPool, GivesAFreedPieceToTheNextRequest) {
  Result<BlockPool> made = BlockPool::create(4096, MemorySpace::PageableHost);
  ASSERT_TRUE(made.ok());
  BlockPool& pool = made.value();
  std::byte* const first = pool.take(1000, {}).value();
  std::byte* const second = pool.take(1, {}).value();
  EXPECT_EQ(second - first, 1024) << "pieces are multiples of 256 bytes";
  EXPECT_EQ(pool.take(4096, {}).error().code, ErrorCode::OutOfMemory);
  pool.give_back(first);
  EXPECT_EQ(pool.take(512, {}).value(), first);
  EXPECT_EQ(pool.take(512, {}).value(), first + 512);
}

TEST(BlockPool, PlannedPiecesShareOnlyBetweenTurnsThatDoNotMeet) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    Result<BlockPool> made = BlockPool::create(1 << 16, MemorySpace::PageableHost);
    ASSERT_TRUE(made.ok());
    struct Planned {
      std::byte* begin;
      std::int64_t bytes;
      TurnSpan when;
    };
    std::vector<Planned> planned;
    int reused = 0;
    for (int piece = 0; piece < 60; ++piece) {
      const int first = static_cast<int>(random() % 8);
      const TurnSpan when = {first, first + static_cast<int>(random() % 4)};
      const auto bytes = static_cast<std::int64_t>(random() % 6000);
      std::byte* const begin = made.value().plan(bytes, when);
      if (begin == nullptr) continue;
      const Planned now{begin, BlockPool::piece_bytes(bytes), when};
      for (const Planned& other : planned) {
        const bool apart =
            now.begin + now.bytes <= other.begin || other.begin + other.bytes <= now.begin;
        if (now.when.meets(other.when)) {
          EXPECT_TRUE(apart);
        } else {
          reused += apart ? 0 : 1;
        }
      }
      planned.push_back(now);
    }
    EXPECT_GT(reused, 0);
  }
}

/// Two micro-batches: forward 1, forward 2, backward 1, backward 2.
GraphMemoryFacts facts_of_two(GraphMemory& memory) {
  for (const int batch : {0, 1}) {
    take(memory, 8 * kMiB, {batch, 2 + batch}, "saved");
    take(memory, 16 * kMiB, {batch, batch}, "forward");
    take(memory, 16 * kMiB, {2 + batch, 2 + batch}, "backward");
  }
  return memory.facts();
}

TEST(GraphMemory, SharedServesLaterGraphsWithWhatEarlierOnesGaveBack) {
  const auto shared = host_memory(PoolSharing::Shared);
  const GraphMemoryFacts facts = facts_of_two(*shared);
  EXPECT_EQ(facts.pools, 1);
  EXPECT_EQ(facts.unshared_bytes, 80 * kMiB);
  // What both micro-batches save at a time, and the scratch memory of one graph.
  EXPECT_GE(facts.bytes, 32 * kMiB);
  EXPECT_LE(facts.bytes, 48 * kMiB);
}

TEST(GraphMemory, APoolPerGraphSharesNothing) {
  const auto apart = host_memory(PoolSharing::OnePerGraph);
  const GraphMemoryFacts facts = facts_of_two(*apart);
  EXPECT_EQ(facts.pools, 4);
  EXPECT_EQ(facts.unshared_bytes, 80 * kMiB);
  EXPECT_EQ(facts.bytes, 80 * kMiB);
}

TEST(GraphMemory, SmallPiecesShareABlock) {
  const auto shared = host_memory(PoolSharing::Shared);
  for (int piece = 0; piece < 100; ++piece) take(*shared, 1000, {0, 1});
  EXPECT_EQ(shared->facts().bytes, 2 * kMiB);
  EXPECT_EQ(shared->facts().unshared_bytes, 100 * 1024);
}

TEST(GraphMemory, TheLedgerHasThePiecesOfTheGraphThatIsCaptured) {
  const auto memory = host_memory(PoolSharing::Shared);
  take(*memory, 100, {0, 2}, "saved");
  take(*memory, 100, {0, 0}, "forward");
  take(*memory, 100, {1, 1}, "loss");
  take(*memory, 100, {2, 2}, "backward");
  EXPECT_TRUE(live_owners(*memory).empty());
  using Owners = std::vector<std::string>;
  for (int round = 0; round < 2; ++round) {  // a capture may be repeated
    memory->begin_capture(0);
    EXPECT_EQ(live_owners(*memory), (Owners{"forward", "saved"}));
    memory->end_capture(0);
    EXPECT_EQ(live_owners(*memory), (Owners{"saved"}));
    memory->begin_capture(1);
    EXPECT_EQ(live_owners(*memory), (Owners{"loss", "saved"}));
    // A capture that failed: nobody has ended it.
    memory->begin_capture(2);
    EXPECT_EQ(live_owners(*memory), (Owners{"backward", "saved"}));
    memory->end_capture(2);
    EXPECT_TRUE(live_owners(*memory).empty());
  }
}

TEST(GraphMemory, BuffersOfASteplongLifeHaveMemoryOfTheirOwn) {
  const auto memory = host_memory(PoolSharing::Shared);
  const GraphMemoryScope scope({.memory = memory, .forward = 0, .backward = 1});
  EXPECT_EQ(GraphMemoryScope::of(BufferLife::Step), nullptr);
  {
    const GraphMemoryScope inner({});
    EXPECT_EQ(GraphMemoryScope::of(BufferLife::Saved), nullptr);
  }
  EXPECT_NE(GraphMemoryScope::of(BufferLife::Saved), nullptr);
}

TEST(GraphMemory, ABufferIsAPieceNamedByItsScopesAndKeepsTheMemory) {
  auto memory = host_memory(PoolSharing::Shared);
  DeviceBuffer buffer;
  {
    const GraphMemoryScope scope(
        {.memory = memory, .forward = 0, .backward = 1, .owner = "micro-batch 2"});
    const AllocationScope owner({AllocationRole::Quantized, "X"});
    Result<DeviceBuffer> made =
        DeviceBuffer::allocate(300, {AllocationRole::Unknown, "codes", BufferLife::Saved});
    ASSERT_TRUE(made.ok()) << made.error().message;
    buffer = std::move(made).value();
  }
  EXPECT_EQ(buffer.bytes(), 300U);
  memory->begin_capture(1);
  EXPECT_EQ(live_owners(*memory), (std::vector<std::string>{"micro-batch 2: X: codes"}));
  memory->end_capture(1);
  memory.reset();
  buffer.data()[299] = std::byte{1};  // still there
  EXPECT_EQ(GraphMemoryScope::of(BufferLife::Saved), nullptr);
}

TEST(GraphMemory, TheSpansOfLives) {
  const GraphMemoryScope::Turns turns{.memory = nullptr, .forward = 1, .backward = 4};
  const TurnSpan saved = GraphMemoryScope::span_of(turns, BufferLife::Saved);
  EXPECT_EQ(saved.first, 1);
  EXPECT_EQ(saved.last, 4);
  EXPECT_EQ(GraphMemoryScope::span_of(turns, BufferLife::Forward).last, 1);
  EXPECT_EQ(GraphMemoryScope::span_of(turns, BufferLife::Backward).first, 4);
}

}  // namespace
}  // namespace engine

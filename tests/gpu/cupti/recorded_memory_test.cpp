// What CUPTI's records add to a snapshot's ledger: live memory allocated elsewhere.
#include <gtest/gtest.h>

#include <vector>

#include "engine/device/allocation_ledger.h"
#include "profiling/cupti/captured_graph.h"

namespace profiling {
namespace {

using engine::AllocationRole;

constexpr std::uint64_t kBlock = 0x7e0000000000;

RawMemoryEvent event(std::int64_t time_ns, MemoryOperation operation, std::uint64_t address) {
  return {.event = {.time_ns = time_ns,
                    .address = address,
                    .bytes = 4096,
                    .operation = operation,
                    .space = engine::MemorySpace::Device}};
}

Snapshot with_a_graph() {
  Snapshot snapshot;
  snapshot.graphs.emplace_back();
  return snapshot;
}

TEST(RecordedMemory, WhatWasReleasedLaterIsLeftOutWhateverTheOrderOfTheRecords) {
  Snapshot snapshot = with_a_graph();
  add_recorded_memory(
      {event(9, MemoryOperation::Release, kBlock), event(1, MemoryOperation::Allocate, kBlock),
       event(2, MemoryOperation::Allocate, kBlock + 8192)},
      snapshot);
  ASSERT_EQ(snapshot.ledger.size(), 1U);
  EXPECT_EQ(snapshot.ledger[0].address, kBlock + 8192);
  EXPECT_EQ(snapshot.ledger[0].bytes, 4096U);
  EXPECT_EQ(snapshot.ledger[0].role, AllocationRole::RecordKnown);
}

TEST(RecordedMemory, BuffersOfThisProcessKeepTheirOwner) {
  auto& ledger = engine::AllocationLedger::of_process();
  const auto* const own = reinterpret_cast<const void*>(kBlock + 1024);
  ledger.allocated(own, 64, engine::MemorySpace::Device, {AllocationRole::Check, "made since"});
  Snapshot snapshot = with_a_graph();  // its ledger was read before the buffer was allocated
  add_recorded_memory({event(1, MemoryOperation::Allocate, kBlock)}, snapshot);
  ledger.released(own);
  EXPECT_TRUE(snapshot.ledger.empty());
}

TEST(RecordedMemory, NothingWithoutAGraph) {
  Snapshot snapshot;
  add_recorded_memory({event(1, MemoryOperation::Allocate, kBlock)}, snapshot);
  EXPECT_TRUE(snapshot.ledger.empty());
}

}  // namespace
}  // namespace profiling

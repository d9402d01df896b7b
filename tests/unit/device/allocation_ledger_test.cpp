// The ledger needs no device: it treats addresses as numbers.
#include "engine/device/allocation_ledger.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace engine {
namespace {

const void* at(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }

const Allocation* find(const std::vector<Allocation>& all, std::uint64_t address, bool live) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Allocation& allocation) {
    return allocation.address == address && allocation.live() == live;
  });
  return found == all.end() ? nullptr : &*found;
}

TEST(AllocationLedger, AnotherAllocationAtTheSameAddressHasAnotherId) {
  AllocationLedger& ledger = AllocationLedger::of_process();
  ledger.allocated(at(0x1000), 256, MemorySpace::Device, {AllocationRole::Workspace, "first"});
  const std::uint64_t between = ledger.clock();
  ledger.released(at(0x1000));
  ledger.allocated(at(0x1000), 512, MemorySpace::Device, {AllocationRole::Output, "second"});
  const std::vector<Allocation> all = ledger.read();
  const Allocation* first = find(all, 0x1000, false);
  const Allocation* second = find(all, 0x1000, true);
  ASSERT_TRUE(first != nullptr && second != nullptr);
  EXPECT_LT(first->id, second->id);
  EXPECT_GT(first->freed_at, between);
  EXPECT_GT(second->allocated_at, first->freed_at);
  EXPECT_EQ(first->owner, "first");
  EXPECT_EQ(second->role, AllocationRole::Output);
  ledger.released(at(0x1000));
}

TEST(AllocationLedger, OwnersAreUniqueAmongLiveAllocationsAndEqualAcrossProcesses) {
  AllocationLedger& ledger = AllocationLedger::of_process();
  for (int round = 0; round < 2; ++round) {
    ledger.allocated(at(0x2000), 1, MemorySpace::Device, {AllocationRole::Quantized, "codes"});
    ledger.allocated(at(0x3000), 1, MemorySpace::Device, {AllocationRole::Quantized, "codes"});
    EXPECT_EQ(find(ledger.read(), 0x2000, true)->owner, "codes");
    EXPECT_EQ(find(ledger.read(), 0x3000, true)->owner, "codes #2");
    ledger.released(at(0x2000));
    ledger.released(at(0x3000));
  }
}

TEST(AllocationLedger, AScopeNamesWhatIsAllocatedInIt) {
  AllocationLedger& ledger = AllocationLedger::of_process();
  {
    const AllocationScope outer({AllocationRole::Quantized, "W"});
    const AllocationScope inner({AllocationRole::Quantized, "W, layer 1"});
    ledger.allocated(at(0x4000), 1, MemorySpace::Device, {AllocationRole::Unknown, "codes"});
    ledger.allocated(at(0x5000), 1, MemorySpace::Device, {});
  }
  ledger.allocated(at(0x6000), 1, MemorySpace::Device, {});
  const std::vector<Allocation> all = ledger.read();
  EXPECT_EQ(find(all, 0x4000, true)->owner, "W, layer 1: codes");
  EXPECT_EQ(find(all, 0x4000, true)->role, AllocationRole::Quantized);
  EXPECT_EQ(find(all, 0x5000, true)->owner, "W, layer 1");
  EXPECT_EQ(find(all, 0x6000, true)->role, AllocationRole::Unknown);
  for (const std::uintptr_t address : {0x4000, 0x5000, 0x6000}) ledger.released(at(address));
}

TEST(AllocationLedger, AnUnknownAddressIsIgnored) {
  AllocationLedger& ledger = AllocationLedger::of_process();
  const std::uint64_t before = ledger.clock();
  ledger.released(at(0x7000));
  EXPECT_EQ(ledger.clock(), before);
}

}  // namespace
}  // namespace engine

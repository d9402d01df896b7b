// The driver's information about memory that is not in the ledger: plain, pinned, from a pool, and
// a pointer into the middle; a word that is not an address adds nothing.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>

#include "engine/device/buffer.h"
#include "engine/device/device_facts.h"
#include "engine/device/handles.h"
#include "profiling/hazards/snapshot/graph_reader.h"

namespace profiling {
namespace {

constexpr std::size_t kBytes = std::size_t{1} << 16;

class DriverMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto device = engine::find_device(); !device.ok()) {
      GTEST_SKIP() << device.error().message;
    }
    stream_ = engine::make_stream().value();
    ASSERT_EQ(cudaMalloc(&plain_, kBytes), cudaSuccess);
    ASSERT_EQ(cudaMallocHost(&locked_, kBytes), cudaSuccess);
    ASSERT_EQ(cudaMallocAsync(&pooled_, kBytes, stream_.get()), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream_.get()), cudaSuccess);
  }

  void TearDown() override {
    if (pooled_ != nullptr) (void)cudaFreeAsync(pooled_, stream_.get());
    if (locked_ != nullptr) (void)cudaFreeHost(locked_);
    if (plain_ != nullptr) (void)cudaFree(plain_);
  }

  static const engine::Allocation* holder(const Snapshot& snapshot, const void* pointer) {
    const auto word = reinterpret_cast<std::uint64_t>(pointer);
    const auto found = std::ranges::find_if(
        snapshot.ledger, [word](const engine::Allocation& entry) { return entry.holds(word); });
    return found == snapshot.ledger.end() ? nullptr : &*found;
  }

  engine::Stream stream_;
  void* plain_ = nullptr;
  void* locked_ = nullptr;
  void* pooled_ = nullptr;
};

TEST_F(DriverMemory, RangesOfAGraphsAddressesAreAdded) {
  const auto driver = engine::load_driver_api();
  ASSERT_TRUE(driver.ok()) << driver.error().message;
  auto own = engine::DeviceBuffer::allocate(kBytes, {engine::AllocationRole::Output, "own"});
  ASSERT_TRUE(own.ok());
  auto* const inside = static_cast<std::byte*>(plain_) + 1024;
  const auto graph = engine::capture(stream_.get(), [&]() -> engine::Status {
    ENGINE_CUDA_TRY(cudaMemsetAsync(inside, 0, 64, stream_.get()), "Capturing");
    ENGINE_CUDA_TRY(cudaMemsetAsync(pooled_, 0, 64, stream_.get()), "Capturing");
    ENGINE_CUDA_TRY(
        cudaMemcpyAsync(own.value().data(), locked_, 64, cudaMemcpyHostToDevice, stream_.get()),
        "Capturing");
    return {};
  });
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const auto read = read_captured_graph(driver.value(), graph.value().get());
  ASSERT_TRUE(read.ok()) << read.error().message;
  Snapshot snapshot;
  snapshot.graphs.push_back(read.value().snapshot);
  const engine::AllocationLedger& ledger = engine::AllocationLedger::of_process();
  snapshot.graphs.back().capture_began = snapshot.graphs.back().capture_ended = ledger.clock();
  snapshot.ledger = ledger.read();
  const std::size_t listed = snapshot.ledger.size();
  add_driver_memory(driver.value(), snapshot);
  EXPECT_EQ(snapshot.ledger.size(), listed + 3);
  for (const void* pointer : std::initializer_list<const void*>{inside, locked_, pooled_}) {
    const engine::Allocation* entry = holder(snapshot, pointer);
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->role, engine::AllocationRole::DriverKnown);
    EXPECT_GE(entry->bytes, kBytes);
  }
  EXPECT_EQ(holder(snapshot, plain_)->address, reinterpret_cast<std::uint64_t>(plain_));
  EXPECT_EQ(holder(snapshot, locked_)->space, engine::MemorySpace::PinnedHost);
  EXPECT_EQ(holder(snapshot, pooled_)->space, engine::MemorySpace::Device);
  EXPECT_EQ(holder(snapshot, own.value().data())->owner, "own");
  const Snapshot once = snapshot;
  add_driver_memory(driver.value(), snapshot);  // everything is listed now
  EXPECT_EQ(snapshot, once);
}

}  // namespace
}  // namespace profiling

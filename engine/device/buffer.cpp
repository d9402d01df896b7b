// Allocation of device and pinned memory.
#include "engine/device/buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "engine/device/graph_memory.h"

namespace engine {
namespace {

constexpr std::int64_t kSmallestAllocation = 256;
constexpr unsigned char kZonePattern = 0xA7;

struct Zones {
  std::atomic<bool> on{false};
  std::mutex mutex;
  std::map<const std::byte*, std::size_t> guarded;  // address of the buffer -> its bytes
};

Zones& zones() {
  static auto* const all = new Zones;  // never destroyed, like the ledger
  return *all;
}

}  // namespace

void RedZones::turn_on() { zones().on.store(true); }
bool RedZones::on() { return zones().on.load(); }

Result<std::vector<std::string>> RedZones::damaged() {
  ENGINE_CUDA_TRY(cudaDeviceSynchronize(), "Checking red zones");
  std::map<const std::byte*, std::size_t> guarded;
  {
    const std::lock_guard lock(zones().mutex);
    guarded = zones().guarded;
  }
  std::vector<std::string> owners;
  std::array<unsigned char, kBytes> zone;
  const auto intact = [&](const std::byte* address) -> Result<bool> {
    ENGINE_CUDA_TRY(cudaMemcpy(zone.data(), address, zone.size(), cudaMemcpyDeviceToHost),
                    "Checking red zones");
    return std::all_of(zone.begin(), zone.end(),
                       [](unsigned char byte) { return byte == kZonePattern; });
  };
  for (const Allocation& allocation : AllocationLedger::of_process().read()) {
    const auto* address = reinterpret_cast<const std::byte*>(allocation.address);
    const auto found = guarded.find(address);
    if (!allocation.live() || found == guarded.end()) continue;
    for (const std::byte* side : {address - kBytes, address + found->second}) {
      ENGINE_ASSIGN(const bool whole, intact(side));
      if (whole) continue;
      owners.push_back(allocation.owner);
      break;
    }
  }
  return owners;
}

DeviceBuffer::~DeviceBuffer() {
  if (pointer_ == nullptr || pool_ != nullptr) return;
  AllocationLedger::of_process().released(pointer_);
  if (zone_ > 0) {
    const std::lock_guard lock(zones().mutex);
    zones().guarded.erase(data());
  }
  (void)cudaFree(data() - zone_);
}

PinnedBuffer::~PinnedBuffer() {
  if (pointer_ == nullptr) return;
  AllocationLedger::of_process().released(pointer_);
  (void)cudaFreeHost(pointer_);
}

Result<DeviceBuffer> DeviceBuffer::allocate(std::int64_t bytes, AllocationLabel label) {
  DeviceBuffer buffer;
  buffer.bytes_ = static_cast<std::size_t>(std::max(bytes, kSmallestAllocation));
  const GraphMemoryScope::Turns* const turns = GraphMemoryScope::of(label.life);
  if (turns != nullptr && !RedZones::on()) {
    const TurnSpan when = GraphMemoryScope::span_of(*turns, label.life);
    label = in_scope(std::move(label));
    if (!turns->owner.empty()) label.owner = turns->owner + ": " + label.owner;
    ENGINE_ASSIGN(buffer.pointer_, turns->memory->take(static_cast<std::int64_t>(buffer.bytes_),
                                                       std::move(label), when));
    buffer.pool_ = turns->memory;
    return buffer;
  }
  const std::int64_t zone = RedZones::on() ? RedZones::kBytes : 0;
  void* base = nullptr;
  ENGINE_CUDA_TRY(cudaMalloc(&base, buffer.bytes_ + 2 * static_cast<std::size_t>(zone)),
                  fmt::format("Allocating {} bytes on the device", bytes).c_str());
  buffer.pointer_ = static_cast<std::byte*>(base) + zone;
  buffer.zone_ = zone;
  if (zone > 0) {
    ENGINE_CUDA_TRY(
        cudaMemset(base, kZonePattern, buffer.bytes_ + 2 * static_cast<std::size_t>(zone)),
        "Filling red zones");
    // The fill runs on the default stream, for which the engine's streams do not wait: without this
    // it could overwrite the owner's next copy.
    ENGINE_CUDA_TRY(cudaStreamSynchronize(cudaStreamLegacy), "Filling red zones");
    const std::lock_guard lock(zones().mutex);
    zones().guarded.emplace(buffer.data(), buffer.bytes_);
  }
  AllocationLedger::of_process().allocated(buffer.pointer_, buffer.bytes_, MemorySpace::Device,
                                           std::move(label));
  return buffer;
}

Result<PinnedBuffer> PinnedBuffer::allocate(std::int64_t bytes, AllocationLabel label) {
  PinnedBuffer buffer;
  const auto size = static_cast<std::size_t>(std::max(bytes, kSmallestAllocation));
  ENGINE_CUDA_TRY(cudaMallocHost(&buffer.pointer_, size),
                  fmt::format("Allocating {} bytes of page-locked memory", bytes).c_str());
  AllocationLedger::of_process().allocated(buffer.pointer_, size, MemorySpace::PinnedHost,
                                           std::move(label));
  return buffer;
}

}  // namespace engine

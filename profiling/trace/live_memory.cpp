#include "profiling/trace/live_memory.h"

#include <map>
#include <unordered_map>

namespace profiling {
namespace {

struct Held {
  std::uint64_t bytes = 0;
  bool host = false;
};

bool is_host(engine::MemorySpace space) {
  return space == engine::MemorySpace::PinnedHost || space == engine::MemorySpace::PageableHost;
}

}  // namespace

LiveMemory live_memory(std::span<const MemoryEvent> events) {
  LiveMemory live;
  std::unordered_map<std::uint64_t, Held> held;  // by address
  std::unordered_map<std::uint64_t, std::uint64_t> pools;
  std::uint64_t device = 0;
  std::uint64_t host = 0;
  std::uint64_t pooled = 0;
  const auto sum_of = [&](bool of_host) -> std::uint64_t& { return of_host ? host : device; };
  const auto give_back = [&](std::uint64_t address) {
    const auto found = held.find(address);
    if (found == held.end()) return false;
    sum_of(found->second.host) -= found->second.bytes;
    held.erase(found);
    return true;
  };
  for (const MemoryEvent& event : events) {
    switch (event.operation) {
      case MemoryOperation::Allocate:
        // An address that is allocated again was released by an unrecorded call.
        (void)give_back(event.address);
        held[event.address] = {.bytes = event.bytes, .host = is_host(event.space)};
        sum_of(is_host(event.space)) += event.bytes;
        break;
      case MemoryOperation::Release:
        if (!give_back(event.address)) ++live.unknown_releases;
        break;
      case MemoryOperation::MakePool:
      case MemoryOperation::EndPool:
      case MemoryOperation::TrimPool:
        break;
    }
    // Pool events carry the pool as their address.
    const bool allocation =
        event.operation == MemoryOperation::Allocate || event.operation == MemoryOperation::Release;
    const std::uint64_t pool = allocation ? event.pool : event.address;
    if (pool != 0) {
      std::uint64_t& size = pools[pool];
      pooled -= size;
      size = event.operation == MemoryOperation::EndPool ? 0 : event.pool_bytes;
      pooled += size;
    }
    live.device_bytes.push_back(device);
    live.host_bytes.push_back(host);
    live.pool_bytes.push_back(pooled);
  }
  return live;
}

std::vector<LiveBlock> live_blocks(std::span<const MemoryEvent> events) {
  std::map<std::uint64_t, LiveBlock> live;
  for (const MemoryEvent& event : events) {
    if (event.operation == MemoryOperation::Release) live.erase(event.address);
    if (event.operation != MemoryOperation::Allocate) continue;
    live[event.address] = {.address = event.address, .bytes = event.bytes, .space = event.space};
  }
  std::vector<LiveBlock> blocks;
  for (const auto& [address, block] : live) blocks.push_back(block);
  return blocks;
}

}  // namespace profiling

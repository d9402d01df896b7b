// What is known about a piece of memory: its owner, its purpose, and when it was allocated and
// freed. The device's ledger fills these; the graph doctor reads them. Plain values, no CUDA.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/model/fields.h"

namespace engine {

/// Numbers are in session files: a new role goes to the end.
enum class AllocationRole : std::uint8_t {
  Unknown,
  Input,         // read by the step, written by the caller
  Output,        // what the caller reads after a step
  Quantized,     // codes, scales and amax between the caller's tensors and the products
  Workspace,     // scratch that a library is given; its contents mean nothing to the caller
  PointerArray,  // device addresses or dimensions that kernels read
  Splits,        // rows per expert, and offsets derived from them
  Counter,       // flags, semaphores, counters: must have a known value when a step starts
  Check,         // the program's own checks: checksums, statistics, marker board
  Tickets,       // counters that every kernel using them resets
  DriverKnown,   // foreign: the driver only reports that the range is memory
  RecordKnown,   // foreign: known from a CUPTI record of its allocation
  Cached,        // a piece of an allocation that a framework's cache hands out again
};

constexpr auto enum_names(AllocationRole) {
  return std::to_array<std::string_view>(
      {"unknown", "input", "output", "quantized", "workspace", "pointer array", "splits", "counter",
       "check", "tickets", "known to the driver", "known from a CUPTI record", "cached"});
}

/// What a caller writes before a step.
constexpr bool is_input(AllocationRole role) {
  return role == AllocationRole::Input || role == AllocationRole::Splits;
}
/// Memory allocated elsewhere: its purpose is unknown, so little can be concluded about it.
constexpr bool foreign(AllocationRole role) {
  return role == AllocationRole::DriverKnown || role == AllocationRole::RecordKnown;
}

enum class MemorySpace : std::uint8_t { Unknown, Device, PinnedHost, PageableHost, Managed };
constexpr auto enum_names(MemorySpace) {
  return std::to_array<std::string_view>(
      {"unknown", "device", "pinned host", "pageable host", "managed"});
}

/// Times are positions on the ledger's clock, which counts allocations and releases from 1.
struct Allocation {
  std::uint64_t id = 0;  // rises with every allocation of the process: another one at the same
                         // address has another id
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  MemorySpace space = MemorySpace::Device;
  AllocationRole role = AllocationRole::Unknown;
  std::string owner;  // "workspace of fprop, layer 0": names it in every process that
                      // makes the same allocations
  std::uint64_t allocated_at = 0;
  std::uint64_t freed_at = 0;  // 0 = live
  std::string freed_where{};   // "train.py:83 step": the code that freed it; empty = not known
  std::string made_for{};      // "graph 3": in whose capture it was made; empty = in none

  bool live() const { return freed_at == 0; }
  /// Whether `address` lies in [address, address + bytes). One past the end is not inside.
  bool holds(std::uint64_t word) const { return word >= address && word - address < bytes; }
  bool operator==(const Allocation&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&Allocation::id, &Allocation::address, &Allocation::bytes,
                          &Allocation::space, &Allocation::role, &Allocation::owner,
                          &Allocation::allocated_at, &Allocation::freed_at,
                          &Allocation::freed_where, &Allocation::made_for>();
  }
};

/// Memory that only the captured graphs use: pieces of it are handed out and taken back during
/// their captures, so that a released piece stays theirs.
struct GraphPool {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  bool holds(std::uint64_t word) const { return word >= address && word - address < bytes; }
  bool operator==(const GraphPool&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&GraphPool::address, &GraphPool::bytes>();
  }
};

}  // namespace engine

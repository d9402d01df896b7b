// Every allocation of this process that the project's own buffers made, with its owner: what the
// graph doctor matches the addresses in a captured graph against. Thread-safe. Released ones are
// kept, newest kMaxReleased of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/allocation.h"

namespace engine {

/// What a buffer is for. `owner` should name it in every process that makes the same step, so it
/// holds no address and no count of earlier steps.
struct AllocationLabel {
  AllocationRole role = AllocationRole::Unknown;
  std::string owner;
};

/// While it lives, allocations of this thread belong to it: their owner becomes "<scope>: <own>",
/// and those without a role get the scope's. The innermost scope counts.
class AllocationScope {
 public:
  explicit AllocationScope(AllocationLabel label);
  ~AllocationScope();
  AllocationScope(const AllocationScope&) = delete;
  AllocationScope& operator=(const AllocationScope&) = delete;

 private:
  AllocationLabel outer_;
};

class AllocationLedger {
 public:
  static constexpr std::size_t kMaxReleased = 4096;

  /// The one of this process.
  static AllocationLedger& of_process();

  /// An owner that a live allocation has already becomes "<owner> #2", "#3", ...
  void allocated(const void* address, std::uint64_t bytes, MemorySpace space,
                 AllocationLabel label);
  /// An address that is not in the ledger is none of its business.
  void released(const void* address);
  /// Changes the label of a live allocation.
  void relabel(const void* address, AllocationLabel label);

  /// Position of the newest event.
  std::uint64_t clock() const;
  /// Ascending by id.
  std::vector<Allocation> read() const;

 private:
  AllocationLedger();
  ~AllocationLedger();
  struct State;
  State* state_;
};

}  // namespace engine

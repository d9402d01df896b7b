// Every allocation made by the project's own buffers in this process, with its owner: the graph
// doctor matches the addresses in a captured graph against it. Thread-safe. The newest kMaxReleased
// released allocations are kept.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/allocation.h"
#include "engine/model/buffer_life.h"

namespace engine {

/// The purpose of a buffer. `owner` should be the same in every process that runs the same step, so
/// it contains no address and no count of earlier steps.
struct AllocationLabel {
  AllocationRole role = AllocationRole::Unknown;
  std::string owner;
  BufferLife life = BufferLife::Step;
};

/// The label that an allocation with this one gets in the scopes of this thread.
AllocationLabel in_scope(AllocationLabel label);

/// While it lives, this thread's allocations get the owner "<scope>: <own>", and the scope's role
/// if they have none. The innermost scope applies.
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

  /// The ledger of this process.
  static AllocationLedger& of_process();

  /// If a live allocation has the same owner, this one's becomes "<owner> #2", "#3", ...
  void allocated(const void* address, std::uint64_t bytes, MemorySpace space,
                 AllocationLabel label);
  /// Addresses that are not in the ledger are ignored.
  void released(const void* address);

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

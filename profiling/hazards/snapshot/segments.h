// Which allocation a piece of a cache lies in: pieces are handed out and taken back while their
// segment stays, and are gone with it.
#pragma once

#include <cstddef>
#include <vector>

#include "profiling/hazards/model/snapshot.h"

namespace profiling {

/// Made by a cache during a capture: the pool of that graph keeps it when it is released.
inline bool is_pool_block(const engine::Allocation& allocation) {
  return allocation.role == engine::AllocationRole::Cached && !allocation.made_for.empty();
}

class Segments {
 public:
  /// The ledger must outlive this.
  explicit Segments(const std::vector<engine::Allocation>& ledger);

  /// Index of the allocation that a piece was cut from; -1 = not known.
  int around(const engine::Allocation& piece) const;
  /// What an address in this allocation depends on: the segment, if that is gone and the piece is
  /// said to live, or to be its pool's; else the allocation itself.
  int behind(int allocation) const;

 private:
  const std::vector<engine::Allocation>& ledger_;
  std::vector<std::size_t> by_address_;  // allocations that are no pieces
};

}  // namespace profiling

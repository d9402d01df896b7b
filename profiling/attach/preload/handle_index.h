// Where a node's handle stands in a list of them: the driver names nodes by handles, frames by
// indices.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profiling/attach/preload/driver_names.h"
#include "profiling/attach/preload/scratch.h"

namespace attach {

/// Open addressing by handle. The list must outlive it.
class HandleIndex {
 public:
  HandleIndex(const CUgraphNode* nodes, std::size_t count)
      : nodes_(nodes), slots_(slots_for(count)), table_(slots_) {
    if (table_.data() == nullptr) return;
    for (std::size_t n = 0; n < count; ++n)
      table_[slot_of(nodes[n])] = static_cast<std::uint32_t>(n + 1);
  }
  /// False = there was no memory for it.
  explicit operator bool() { return table_.data() != nullptr; }
  /// -1 = not in the list.
  std::int32_t find(CUgraphNode node) {
    return static_cast<std::int32_t>(table_[slot_of(node)]) - 1;
  }

 private:
  static std::size_t slots_for(std::size_t count) {
    std::size_t slots = 16;
    while (slots < 2 * count) slots *= 2;
    return slots;
  }
  /// Where it is, or would be.
  std::size_t slot_of(CUgraphNode node) {
    std::size_t slot =
        (reinterpret_cast<std::uint64_t>(node) * 0x9E3779B97F4A7C15 >> 20) & (slots_ - 1);
    while (table_[slot] != 0 && nodes_[table_[slot] - 1] != node) slot = (slot + 1) & (slots_ - 1);
    return slot;
  }

  const CUgraphNode* nodes_;
  std::size_t slots_;
  Scratch<std::uint32_t> table_;
};

}  // namespace attach

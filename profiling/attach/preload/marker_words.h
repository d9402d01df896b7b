// The words that markers write: host memory of this library that the device reaches. It is never
// given back, because a replay that writes it may still be under way when its graph is destroyed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profiling/attach/preload/refusal.h"

namespace attach {

/// The words of one executable graph.
struct MarkerWords {
  volatile std::uint32_t* words = nullptr;
  CUdeviceptr device = 0;  // of words[0]
  std::size_t count = 0;

  /// Nothing that writes them is under way, as far as can be seen: a replay that ends clears them.
  bool all_clear() const {
    for (std::size_t i = 0; i < count; ++i) {
      if (words[i] != 0) return false;
    }
    return true;
  }
};

/// `count` cleared words that kernels of the current context can write. Not for several threads at
/// the same time: its user locks.
Refusal take_marker_words(std::size_t count, MarkerWords& taken);
void return_marker_words(const MarkerWords& words);

/// In a forked child, where no device writes them.
void drop_marker_words_of_parent();

}  // namespace attach

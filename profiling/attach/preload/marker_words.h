// The words that markers write: host memory of this library that the device reaches. It is never
// given back, because a replay that writes it may still be under way when its graph is destroyed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profiling/attach/preload/driver_names.h"

namespace attach {

/// The words of one executable graph.
struct MarkerWords {
  volatile std::uint32_t* words = nullptr;
  CUdeviceptr device = 0;  // of words[0]
  std::size_t count = 0;
  /// What its markers write. A replay of a destroyed graph may still write these words: with that
  /// graph's tag.
  std::uint32_t tag = 0;
  CUcontext context = nullptr;  // in which the device reaches them

  bool is_set(std::size_t word) const { return words[word] == tag; }
};

/// Of one context: 1 MiB.
inline constexpr std::size_t kMostMarkerWords = std::size_t{1} << 18;

/// `count` words that kernels of the current context can write. Null = `taken` has them; else why
/// there are none, with the driver's code in `result` (0 = the driver was not asked). Calls the
/// driver at the first use in a context.
const char* take_marker_words(std::size_t count, MarkerWords& taken, CUresult& result);
void return_marker_words(const MarkerWords& words);

/// In a forked child, where no device writes them.
void drop_marker_words_of_parent();

}  // namespace attach

// Tensors' memory inside the segments of PyTorch's caching allocator. A replay that reads a tensor
// whose memory the cache has given to another one is the commonest fault of captured graphs, and
// the driver sees nothing of it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace attach {

struct TensorMemory {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};
inline constexpr std::size_t kMostTensorMemory = 3 << 15;

/// Fills `all`, which has room for kMostTensorMemory, with those that live, in no order; their
/// count.
std::size_t living_blocks(TensorMemory* all);

/// A frame for each block that lives and was not reported yet: when a capture begins, before its
/// own frame. Others never get one, as an eager program makes millions.
void report_live_blocks();

/// In a forked child.
void drop_blocks_of_parent();

}  // namespace attach

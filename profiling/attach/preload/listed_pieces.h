// The pieces in which memory is compared: a tensor's own where its framework tells of it, so that
// its neighbours in the same segment do not seem to change it, else equal parts of an allocation.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profiling/attach/preload/live_memory.h"
#include "profiling/attach/preload/memory_hash.h"

namespace attach {

struct Listed {
  std::size_t pieces = 0;
  std::uint64_t bytes = 0;
  bool cut = false;  // not all memory
};

/// Fills `pieces`, which has room for kMostPieces, with all memory that kernels of this context may
/// read. One thread at a time.
Listed list_pieces(const MemoryStays& memory, std::uint64_t context, Piece* pieces);

/// Of those that were listed last: the first piece of an allocation, a tensor or what is between
/// two of them.
bool begins_part(std::size_t piece);

}  // namespace attach

#include "profiling/attach/preload/listed_pieces.h"

#include <algorithm>

#include "profiling/attach/preload/scratch.h"
#include "profiling/attach/preload/tensor_blocks.h"

namespace attach {
namespace {

/// Small pieces where flags, counters and small tensors lie, large ones where there is much memory.
std::uint64_t piece_bytes(std::uint64_t allocation) {
  constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
  if (allocation <= 4 * kMebibyte) return 4096;
  return allocation <= 64 * kMebibyte ? kMebibyte / 16 : kMebibyte;
}

// Pieces are larger by this power of two because there is much memory. It never shrinks: each
// change makes all pieces new.
constinit unsigned g_larger_by = 0;
constexpr unsigned kMostLarger = 12;

constinit bool g_begins[kMostPieces]{};

class PieceList {
 public:
  explicit PieceList(Piece* pieces) : pieces_(pieces) {}

  void add(std::uint64_t begin, std::uint64_t end, std::uint64_t step) {
    for (std::uint64_t at = begin; at < end; at += step) {
      if (listed_.pieces == kMostPieces) {
        listed_.cut = true;
        return;
      }
      const std::uint64_t bytes = end - at < step ? end - at : step;
      g_begins[listed_.pieces] = at == begin;
      pieces_[listed_.pieces++] = {.address = at, .bytes = bytes};
      listed_.bytes += bytes;
    }
  }
  Listed listed() const { return listed_; }

 private:
  Piece* pieces_;
  Listed listed_;
};

/// The tensors' parts of an allocation and what lies between them.
void add_allocation(const LiveMemory& memory, const TensorMemory* tensors, std::size_t count,
                    PieceList& list) {
  const std::uint64_t step = piece_bytes(memory.bytes) << g_larger_by;
  const std::uint64_t end = memory.address + memory.bytes;
  std::uint64_t at = memory.address;
  const TensorMemory* tensor = std::lower_bound(
      tensors, tensors + count, at,
      [](const TensorMemory& one, std::uint64_t address) { return one.address < address; });
  for (; tensor != tensors + count && tensor->address < end; ++tensor) {
    // Other sizes than PyTorch has are no reason to read beyond the allocation or across words.
    const bool fits = tensor->address >= at && tensor->bytes <= end - tensor->address &&
                      tensor->address % 16 == 0 && tensor->bytes % 16 == 0;
    if (!fits) continue;
    list.add(at, tensor->address, step);
    list.add(tensor->address, tensor->address + tensor->bytes, step);
    at = tensor->address + tensor->bytes;
  }
  list.add(at, end, step);
}

}  // namespace

bool begins_part(std::size_t piece) { return g_begins[piece]; }

Listed list_pieces(const MemoryStays& memory, std::uint64_t context, Piece* pieces) {
  Scratch<TensorMemory> tensors(kMostTensorMemory);
  const std::size_t count = tensors.data() == nullptr ? 0 : living_blocks(tensors.data());
  std::sort(tensors.data(), tensors.data() + count,
            [](const TensorMemory& a, const TensorMemory& b) { return a.address < b.address; });
  for (;;) {
    PieceList list(pieces);
    memory.for_each(context, [&](const LiveMemory& one) {
      if (one.address % 16 == 0) add_allocation(one, tensors.data(), count, list);
    });
    Listed listed = list.listed();
    if (!listed.cut || g_larger_by == kMostLarger) {
      listed.cut = listed.cut || memory.is_incomplete();
      return listed;
    }
    ++g_larger_by;
  }
}

}  // namespace attach

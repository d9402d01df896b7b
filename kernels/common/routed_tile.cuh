// Tiles of an operand whose rows are gathered: row r is row row_tokens[r] of the input. What a
// worker does to a tile is the same; only its loads differ, so that the pipeline has instances of
// their own for such operands, and the others pay nothing.
#pragma once

#include "kernels/common/tile.cuh"

namespace kernels::tiles {

/// A worker of tiles whose rows are gathered. The operand is otherwise plain.
template <class Worker>
class Routed : public Worker {
 public:
  static_assert(Worker::kTileInput == TileInput::Plain);
  struct Parameters : Worker::Parameters {
    const std::int32_t* row_tokens = nullptr;  // [rows of the operand]
  };
  using Worker::Worker;
};

/// As copy_tile(). A lane looks one row of each segment up, then all lanes copy.
template <InputType kType>
__device__ __forceinline__ void copy_routed_tile(const GroupedInput& input,
                                                 const std::int32_t* row_tokens, const Tile& tile,
                                                 RawTile<kType>& raw) {
  constexpr int kPieces = kRowPieces<kType>;
  constexpr int kRowsAtOnce = 32 / kPieces;
  static_assert(kRowsAtOnce >= 1 && kSegmentRows == 32);
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int piece = lane % kPieces;
  const int first_line = lane / kPieces;
  const std::int64_t pieces_per_row = input.columns / kStep * (RawStep<kType>::kWords / 4);
  const auto* const source = static_cast<const uint4*>(input.input);
  std::int32_t tokens[kSegments];
#pragma unroll
  for (int segment = 0; segment < kSegments; ++segment) {
    const int row = tile.row(segment * kSegmentRows) + lane;
    tokens[segment] = row < tile.in_rows ? __ldg(row_tokens + tile.in_first + row) : -1;
  }
#pragma unroll
  for (int segment = 0; segment < kSegments; ++segment) {
    const std::int64_t in_row = std::int64_t{tile.block(segment * kSegmentRows)} * kPieces + piece;
    uint4* const to = raw.row(segment * kSegmentRows) + first_line * kPieces + piece;
    const bool column_exists = in_row < pieces_per_row;
#pragma unroll 8
    for (int i = 0; i < kSegmentRows / kRowsAtOnce; ++i) {
      const std::int32_t token =
          __shfl_sync(kFullWarp, tokens[segment], i * kRowsAtOnce + first_line);
      const bool inside = token >= 0 && column_exists;
      // Never form an address outside the operand, even though zero-fill would not read it.
      copy_piece(to + i * kRowsAtOnce * kPieces,
                 inside ? source + token * pieces_per_row + in_row : source, inside);
    }
  }
}

}  // namespace kernels::tiles

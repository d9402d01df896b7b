// The kernel of quantize_block_tile.h and of the transposed per-tensor cast, a template; a .cu file
// for each kind of scaling makes its instances, so that they compile side by side.
#pragma once

#include "kernels/quantize/block_tile.cuh"
#include "kernels/quantize/quantize_block_tile.h"

namespace kernels::block_tile {

/// What one scale holds for.
enum class TileScaling {
  Block1x128,    // 128 elements of a row, and 128 of a column
  Block128x128,  // a block
  PerTensor,     // a group; the scale is given
};

struct TileParameters {
  QuantizeBlockArgs args;
  ScaleRule rule = {};
  // Per tensor only, see quantize_per_tensor.h:
  const float* group_scale = nullptr;
  float* group_amax = nullptr;
  float* group_scale_inv = nullptr;
};

/// One tile of the launch's walk: 128 rows of one block of 128 columns, or, where a group has 64
/// or 32 rows left, these of two or four such blocks. Its 128 lines are numbered through all
/// blocks, so that a tile is full of work either way: line l is row l % lines_per_block of block bx
/// + l / lines_per_block.
struct Tile {
  std::int32_t index = -1;  // in the order of the walk; -1 = there is none
  int bx = 0;               // first block of 128 columns
  int group = 0;
  int strip_in_group = 0;       // 128 rows of the output each
  int row_bits = 7;             // lines of a block: 128, 64 or 32
  int in_rows = 0;              // rows that the group has here; the others count as 0
  int out_rows = 0;             // rows to write
  std::int32_t out_m = 0;       // the group's rows in the outputs
  std::int32_t strip = 0;       // of all groups' outputs
  std::int32_t bias_strip = 0;  // of all groups' inputs
  std::int32_t scale_sum = 0;   // before the group: rows / 4 (1x128), strips / 4 (128x128)
  std::int64_t in_first = 0;    // row of the input
  std::int64_t out_begin = 0;   // the group's first row in the outputs

  __device__ int row(int line) const { return line & ((1 << row_bits) - 1); }
  __device__ int block(int line) const { return bx + (line >> row_bits); }
};

/// Everything of a fixed size; the tables follow it.
template <InputType kType, int kStages>
struct BlockMemory : TileMemory<kType, kStages> {
  Tile tiles[kStages];
  StageBarrier full[kStages];
  StageBarrier empty[kStages];
};

/// Prefix sums over the groups, in shared memory. The coarse ones hold every 32nd.
struct Tables {
  std::int32_t* first_tile;
  std::int32_t* first_strip;  // of the outputs
  std::int32_t* scale_sums;   // coarse; 1x128: rows / 4, rowwise; 128x128: strips / 4, columnwise
  std::int32_t* bias_strips;  // coarse; of the input

  __host__ __device__ static int coarse(int groups) { return groups / 32 + 1; }
  static std::size_t bytes(int groups) {
    return static_cast<std::size_t>(2 * (groups + 1) + 2 * coarse(groups)) * sizeof(std::int32_t);
  }
};

/// Rows of a group in strips of 128, and what the scales of the group are padded by.
__device__ __forceinline__ int strips_of(int m) { return (m + kSide - 1) / kSide; }
template <TileScaling kScaling>
__device__ __forceinline__ int scale_units_of(int m) {
  // 1x128 rowwise scales are padded to 4 rows a group, 128x128 columnwise ones to 4 strips.
  return kScaling == TileScaling::Block128x128 ? (m + 4 * kSide - 1) / (4 * kSide) : (m + 3) / 4;
}
__device__ __forceinline__ int left_row_bits(int rows) {
  return rows <= 32 ? 5 : rows <= 64 ? 6 : 7;
}

/// Chooses the tiles of this block of threads: in fixed turns, or, with tickets, whichever is next
/// when it asks. One warp does it for all.
template <TileScaling kScaling>
class TileDeal {
 public:
  __device__ TileDeal(const QuantizeBlockArgs& args, const Tables& tables)
      : args_(args),
        tables_(tables),
        blocks_per_row_(static_cast<unsigned>(ceil_div(args.input.columns, kBlock))),
        asked_(static_cast<std::int32_t>(blockIdx.x)) {
    out_offsets_ = args.output_rows.row_offsets != nullptr ? args.output_rows.row_offsets
                                                           : args.input.row_offsets;
    advance();
  }

  /// Goes on to the next tile: asks for its number, which is needed a tile later.
  __device__ void advance() {
    const int lane = static_cast<int>(threadIdx.x) & 31;
    std::uint32_t* tickets = args_.controls.tickets;
    index_ = asked_;
    if (tickets == nullptr) {
      asked_ += static_cast<std::int32_t>(gridDim.x);
    } else if (lane == 0) {
      asked_ = static_cast<std::int32_t>(gridDim.x + atomicAdd(tickets, 1U));
    }
  }

  /// The present tile.
  __device__ Tile describe() {
    std::int32_t index = __shfl_sync(kFullWarp, index_, 0);
    Tile tile;
    const int groups = args_.input.num_groups;
    const std::int32_t tiles = tables_.first_tile[groups];
    if (index >= tiles) return tile;
    // Backwards: the amax pass before this one has left the tail in L2.
    if constexpr (kScaling == TileScaling::PerTensor) index = tiles - 1 - index;
    if (group_ < 0 || index < tables_.first_tile[group_] ||
        index >= tables_.first_tile[group_ + 1]) {
      enter(warp_find_group(tables_.first_tile, groups, index));
    }
    tile.index = index;
    tile.group = group_;
    tile.out_begin = out_begin_;
    tile.out_m = out_m_;
    tile.scale_sum = scale_sum_;
    const auto local = static_cast<unsigned>(index - tables_.first_tile[group_]);
    const unsigned full_strips = static_cast<unsigned>(out_m_) / kSide;
    const unsigned strip = local / blocks_per_row_;
    if (strip < full_strips) {
      tile.strip_in_group = static_cast<int>(strip);
      tile.bx = static_cast<int>(local - strip * blocks_per_row_);
      tile.out_rows = kSide;
    } else {
      tile.strip_in_group = static_cast<int>(full_strips);
      tile.out_rows = out_m_ % kSide;
      tile.row_bits = left_row_bits(tile.out_rows);
      tile.bx = static_cast<int>(local - full_strips * blocks_per_row_) << (7 - tile.row_bits);
    }
    tile.strip = tables_.first_strip[group_] + tile.strip_in_group;
    tile.bias_strip = bias_strip_ + tile.strip_in_group;
    const int row_in_group = tile.strip_in_group * kSide;
    tile.in_first = in_begin_ + row_in_group;
    tile.in_rows = max(0, min(kSide, in_m_ - row_in_group));
    return tile;
  }

  /// The last block to get here leaves the tickets as it found them.
  __device__ void finish() const {
    std::uint32_t* tickets = args_.controls.tickets;
    if (threadIdx.x % 32 != 0 || tickets == nullptr) return;
    if (atomicInc(tickets + 1, gridDim.x - 1) == gridDim.x - 1) *tickets = 0;
  }

 private:
  __device__ void enter(int group) {
    group_ = group;
    const std::int64_t* in_offsets = args_.input.row_offsets;
    in_begin_ = in_offsets[group];
    in_m_ = static_cast<int>(in_offsets[group + 1] - in_begin_);
    out_begin_ = out_offsets_[group];
    out_m_ = static_cast<int>(out_offsets_[group + 1] - out_begin_);
    scale_sum_ = tables_.scale_sums[group / 32] +
                 sum_before(out_offsets_, [](int m) { return scale_units_of<kScaling>(m); });
    if (args_.bias_partials != nullptr) {
      bias_strip_ = tables_.bias_strips[group / 32] + sum_before(in_offsets, strips_of);
    }
  }

  /// Of the groups between the last entry of a coarse table and this one.
  template <class Count>
  __device__ std::int32_t sum_before(const std::int64_t* offsets, Count count) const {
    const int other = group_ / 32 * 32 + (static_cast<int>(threadIdx.x) & 31);
    const int m = other < group_ ? static_cast<int>(offsets[other + 1] - offsets[other]) : 0;
    return __reduce_add_sync(kFullWarp, count(m));
  }

  const QuantizeBlockArgs& args_;
  const Tables& tables_;
  const std::int64_t* out_offsets_;
  unsigned blocks_per_row_;
  std::int32_t asked_;
  std::int32_t index_ = 0;
  int group_ = -1;
  std::int64_t in_begin_ = 0;
  std::int64_t out_begin_ = 0;
  int in_m_ = 0;
  int out_m_ = 0;
  std::int32_t scale_sum_ = 0;
  std::int32_t bias_strip_ = 0;
};

/// Places the tables in `memory` and fills them.
template <TileScaling kScaling>
__device__ __forceinline__ Tables make_tables(const QuantizeBlockArgs& args, std::int32_t* memory) {
  const int groups = args.input.num_groups;
  Tables tables;
  tables.first_tile = memory;
  tables.first_strip = memory + groups + 1;
  tables.scale_sums = memory + 2 * (groups + 1);
  tables.bias_strips = tables.scale_sums + Tables::coarse(groups);
  const std::int64_t* in_offsets = args.input.row_offsets;
  const std::int64_t* out_offsets =
      args.output_rows.row_offsets != nullptr ? args.output_rows.row_offsets : in_offsets;
  const auto blocks_per_row = static_cast<int>(ceil_div(args.input.columns, kBlock));
  // A warp for each.
  switch (static_cast<int>(threadIdx.x) / 32) {
    case 0:
      warp_sum_table<1>(tables.first_tile, out_offsets, groups, [&](int m) {
        const int left = m % kSide;
        const int wide = left == 0 ? 0 : 1 << (7 - left_row_bits(left));
        return m / kSide * blocks_per_row + (left == 0 ? 0 : (blocks_per_row + wide - 1) / wide);
      });
      break;
    case 1:
      warp_sum_table<1>(tables.first_strip, out_offsets, groups, strips_of);
      break;
    case 2:
      warp_sum_table<32>(tables.scale_sums, out_offsets, groups,
                         [](int m) { return scale_units_of<kScaling>(m); });
      break;
    case 3:
      if (args.bias_partials != nullptr) {
        warp_sum_table<32>(tables.bias_strips, in_offsets, groups, strips_of);
      }
      break;
    default:
      break;
  }
  __syncthreads();
  return tables;
}

/// Brings a tile to shared memory; one warp calls. The copies are in flight when this returns.
template <InputType kType>
__device__ __forceinline__ void copy_tile(const GroupedInput& input, const Tile& tile,
                                          RawTile<kType>& raw) {
  constexpr int kPieces = kRowPieces<kType>;
  constexpr int kRowsAtOnce = 32 / kPieces;
  constexpr int kPieceSteps = RawStep<kType>::kWords / 4;  // pieces of a step
  static_assert(kRowsAtOnce >= 1);
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int piece = lane % kPieces;
  const int first_line = lane / kPieces;
  const std::int64_t pieces_per_row = input.columns / kStep * kPieceSteps;
  const auto stride = static_cast<std::uint32_t>(kRowsAtOnce * pieces_per_row);
  const auto* source = static_cast<const uint4*>(input.input);
#pragma unroll
  for (int segment = 0; segment < kSegments; ++segment) {
    // A segment lies in one block of columns, also in a tile of several.
    const int row = tile.row(segment * kSegmentRows);
    const std::int64_t in_row = std::int64_t{tile.block(segment * kSegmentRows)} * kPieces + piece;
    uint4* const to = raw.row(segment * kSegmentRows) + first_line * kPieces + piece;
    const uint4* const from = source + (tile.in_first + row + first_line) * pieces_per_row + in_row;
    const bool whole =
        tile.in_rows - row >= kSegmentRows && in_row - piece + kPieces <= pieces_per_row;
    if (whole) {
#pragma unroll
      for (int i = 0; i < kSegmentRows / kRowsAtOnce; ++i) {
        copy_piece(to + i * kRowsAtOnce * kPieces, from + static_cast<std::uint64_t>(i) * stride);
      }
    } else {
      const int rows = in_row < pieces_per_row ? tile.in_rows - row - first_line : 0;
#pragma unroll 8
      for (int i = 0; i < kSegmentRows / kRowsAtOnce; ++i) {
        const bool inside = i * kRowsAtOnce < rows;
        // An address outside the operand is never formed, though zeros would not read it.
        copy_piece(to + i * kRowsAtOnce * kPieces,
                   inside ? from + static_cast<std::uint64_t>(i) * stride : source, inside);
      }
    }
  }
}

/// The same through registers, with the activation on the way; all working warps call.
template <InputType kType, Activation kActivation>
__device__ __forceinline__ void activate_tile(const GroupedInput& input, const Tile& tile,
                                              RawTile<kType>& raw) {
  constexpr int kVectors = RawStep<kType>::kWords / 4;
  const int thread = static_cast<int>(threadIdx.x);
  const int step = thread % kLanesPerRow;
  const std::int64_t steps_per_row = input.columns / kStep;
#pragma unroll 4
  for (int line = thread / kLanesPerRow; line < kSide; line += kThreads / kLanesPerRow) {
    const int row = tile.row(line);
    const std::int64_t in_row = std::int64_t{tile.block(line)} * kLanesPerRow + step;
    const RawStep<kType> values =
        row < tile.in_rows && in_row < steps_per_row
            ? load_activated_step<kType, kActivation>(input, tile.in_first + row, in_row)
            : zero_step<kType>();
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      raw.row(line)[step * kVectors + i] = {values.words[4 * i], values.words[4 * i + 1],
                                            values.words[4 * i + 2], values.words[4 * i + 3]};
    }
  }
}

/// A barrier of the working warps alone.
__device__ __forceinline__ void sync_workers() {
  asm volatile("bar.sync 1, %0;" ::"n"(kThreads) : "memory");
}

template <InputType kType>
__device__ __forceinline__ RawStep<kType> shared_step(const RawTile<kType>& raw, int row,
                                                      int step) {
  constexpr int kVectors = RawStep<kType>::kWords / 4;
  RawStep<kType> values;
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const uint4 piece = raw.row(row)[step * kVectors + i];
    values.words[4 * i] = piece.x;
    values.words[4 * i + 1] = piece.y;
    values.words[4 * i + 2] = piece.z;
    values.words[4 * i + 3] = piece.w;
  }
  return values;
}

/// The lines of this warp: amax and scale of each (1x128; the block's own scale otherwise), codes.
template <InputType kType, Fp8Format kFormat, TileScaling kScaling>
__device__ __forceinline__ void quantize_rows(const TileParameters& parameters, const Tile& tile,
                                              const RawStep<kType> (&values)[kPasses],
                                              float block_scale) {
  const QuantizeBlockArgs& args = parameters.args;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int step = lane % kLanesPerRow;
  const int first_line =
      static_cast<int>(threadIdx.x / 32) * (kSide / kWarps) + lane / kLanesPerRow;
  const std::int64_t steps_per_row = args.input.columns / kStep;
  const auto blocks_per_row = static_cast<int>(ceil_div(args.input.columns, kBlock));
  float row_scale = block_scale;  // 1x128: of line lane / 2 (of the sixteen lanes) of the thread's
  if constexpr (kScaling == TileScaling::Block1x128) {
    float amax[kPasses];
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) amax[pass] = packed_step_amax(values[pass]);
    const float row_amax = scatter_row_amax(amax);
    row_scale = scale_from_amax(row_amax, parameters.rule);
    const int line = first_line + step / 2 * 2;
    if (lane % 2 == 0 && tile.row(line) < tile.out_rows && tile.block(line) < blocks_per_row) {
      const std::int64_t padded = (tile.out_m + 3) / 4 * 4;
      store_block_scale(args.rowwise, row_amax, row_scale,
                        4 * std::int64_t{tile.scale_sum} * blocks_per_row +
                            tile.block(line) * padded + tile.strip_in_group * kSide +
                            tile.row(line));
    }
  }
  const std::int64_t first_row = tile.out_begin + tile.strip_in_group * kSide;
#pragma unroll
  for (int pass = 0; pass < kPasses; ++pass) {
    const int line = first_line + 2 * pass;
    float scale = block_scale;
    if constexpr (kScaling == TileScaling::Block1x128) {
      scale = __shfl_sync(kFullWarp, row_scale, (lane & kLanesPerRow) + 2 * pass);
    }
    const std::int64_t in_row = tile.block(line) * kLanesPerRow + step;
    if (in_row < steps_per_row && tile.row(line) < tile.out_rows) {
      store_codes<kType, kFormat>(values[pass], scale, args.rowwise.codes,
                                  (first_row + tile.row(line)) * steps_per_row + in_row);
    }
  }
}

/// The 16 columns of this warp: amax and scale of each (1x128), sums, transposed codes.
template <InputType kType, Fp8Format kFormat, TileScaling kScaling>
__device__ __forceinline__ void quantize_columns(const TileParameters& parameters, const Tile& tile,
                                                 const RawTile<kType>& raw,
                                                 uint4 (&lines)[kWarpPairs][kSide / 16],
                                                 bool quantizes, float block_scale) {
  const QuantizeBlockArgs& args = parameters.args;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int pair = lane % kWarpPairs;
  const int segment = lane / kWarpPairs;
  const int warp_column = static_cast<int>(threadIdx.x / 32) * 2 * kWarpPairs;
  const int column = warp_column + 2 * pair;  // inside the block
  const std::int64_t full_column =
      std::int64_t{tile.block(segment * kSegmentRows)} * kSide + column;
  const bool inside = full_column < args.input.columns;
  const int row_segment = tile.row(segment * kSegmentRows) / kSegmentRows;
  // Sixteen-bit pairs stay in registers; FP32 ones are read again, there is no room.
  constexpr bool kKeep = kType != InputType::Fp32;
  constexpr int kPairsPerPiece = kKeep ? 4 : 2;
  const int piece = column / 2 / kPairsPerPiece;
  std::uint32_t kept[kKeep ? kSegmentRows : 1];
  if constexpr (kKeep) {
#pragma unroll
    for (int i = 0; i < kSegmentRows; ++i) {
      kept[i] = reinterpret_cast<const std::uint32_t*>(
          &raw.row(segment * kSegmentRows + i)[piece])[pair % kPairsPerPiece];
    }
  }
  const auto values_at = [&](int i) {
    if constexpr (kKeep) {
      return word_values<kType>(kept[i]);
    } else {
      return reinterpret_cast<const float2*>(
          &raw.row(segment * kSegmentRows + i)[piece])[pair % kPairsPerPiece];
    }
  };

  if (args.bias_partials != nullptr) {
    // The order of bias/bias_gradient.h: segments of 16 rows, two of them here.
    float2 sums[2] = {};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll 16
      for (int i = 0; i < 16; ++i) {
        const float2 values = values_at(half * 16 + i);
        sums[half] = {__fadd_rn(sums[half].x, values.x), __fadd_rn(sums[half].y, values.y)};
      }
    }
    float2 sum = {__fadd_rn(sums[0].x, sums[1].x), __fadd_rn(sums[0].y, sums[1].y)};
    // Segments that a narrow block lacks would add +0.
    for (int bits = 5; bits < tile.row_bits; ++bits) {
      const int distance = kWarpPairs << (bits - 5);
      sum = {__fadd_rn(sum.x, __shfl_xor_sync(kFullWarp, sum.x, distance)),
             __fadd_rn(sum.y, __shfl_xor_sync(kFullWarp, sum.y, distance))};
    }
    if (row_segment == 0 && tile.in_rows > 0 && inside) {
      *reinterpret_cast<float2*>(args.bias_partials +
                                 std::int64_t{tile.bias_strip} * args.input.columns + full_column) =
          sum;
    }
  }
  if (args.columnwise.codes == nullptr || !quantizes) return;

  float2 scale = {block_scale, block_scale};
  if constexpr (kScaling == TileScaling::Block1x128) {
    float2 amax = {0.0F, 0.0F};
    if constexpr (kKeep) {
      std::uint32_t packed = 0;
#pragma unroll
      for (int i = 0; i < kSegmentRows; ++i)
        packed = packed_max<kType>(packed, kept[i] & kMagnitudes);
      for (int bits = 5; bits < tile.row_bits; ++bits) {
        const int distance = kWarpPairs << (bits - 5);
        packed = packed_max<kType>(packed, __shfl_xor_sync(kFullWarp, packed, distance));
      }
      amax = word_values<kType>(packed);
    } else {
#pragma unroll 8
      for (int i = 0; i < kSegmentRows; ++i) {
        const float2 values = values_at(i);
        amax = {fmaxf(amax.x, fabsf(values.x)), fmaxf(amax.y, fabsf(values.y))};
      }
      for (int bits = 5; bits < tile.row_bits; ++bits) {
        const int distance = kWarpPairs << (bits - 5);
        amax = {fmaxf(amax.x, __shfl_xor_sync(kFullWarp, amax.x, distance)),
                fmaxf(amax.y, __shfl_xor_sync(kFullWarp, amax.y, distance))};
      }
    }
    const std::int64_t index = std::int64_t{tile.strip} * args.input.columns + full_column;
    if (tile.row_bits == 5) {
      scale = {scale_from_amax(amax.x, parameters.rule), scale_from_amax(amax.y, parameters.rule)};
      if (inside) {
        store_block_scale(args.columnwise, amax.x, scale.x, index);
        store_block_scale(args.columnwise, amax.y, scale.y, index + 1);
      }
    } else {
      // Even segments make the scale of the left column, odd ones that of the right.
      const bool right = (segment & 1) != 0;
      const float my_amax = right ? amax.y : amax.x;
      const float my_scale = scale_from_amax(my_amax, parameters.rule);
      const float other = __shfl_xor_sync(kFullWarp, my_scale, kWarpPairs);
      scale = right ? float2{other, my_scale} : float2{my_scale, other};
      if (row_segment < 2 && inside) {
        store_block_scale(args.columnwise, my_amax, my_scale, index + (right ? 1 : 0));
      }
    }
  }
  const int alignment = tile.out_m % 16 == 0 ? 16 : tile.out_m % 4 == 0 ? 4 : 1;
  const int out_piece = lane % 8;  // of a line of shared memory: 16 rows of one block's column
  const int out_row = tile.row(16 * out_piece);
  const int valid = tile.out_rows - out_row;
  const int first_line = lane / 8;
  const std::int64_t out_column = std::int64_t{tile.block(16 * out_piece)} * kSide + warp_column;
  std::uint8_t* const target = args.columnwise.codes + tile.out_begin * args.input.columns +
                               tile.strip_in_group * kSide + out_row;
#pragma unroll
  for (int side = 0; side < 2; ++side) {  // even columns first, then the odd ones
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      std::uint32_t words[4];
#pragma unroll
      for (int word = 0; word < 4; ++word) {
        float v[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float2 values = values_at(half * 16 + word * 4 + i);
          v[i] = side == 0 ? values.x : values.y;
        }
        words[word] = column_word<kFormat>(v[0], v[1], v[2], v[3], side == 0 ? scale.x : scale.y);
      }
      lines[pair][(segment * 2 + half) ^ pair] = {words[0], words[1], words[2], words[3]};
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < kWarpPairs; i += 4) {
      const int line = first_line + i;
      const std::int64_t line_column = out_column + 2 * line + side;
      if (line_column < args.input.columns && valid > 0) {
        store_piece(target + line_column * tile.out_m, lines[line][out_piece ^ line], valid,
                    alignment);
      }
    }
    __syncwarp();
  }
}

/// Three stages and two blocks an SM keep enough loads in flight behind the work (two and three
/// were 7 % slower, tests/bench/gpu_quantize_bench). Activated elements come through registers, and
/// FP32 tiles are too big: those rely on several blocks an SM.
template <InputType kType, Activation kActivation>
constexpr int kStagesFor = kType == InputType::Fp32 || kActivation != Activation::None ? 1 : 3;
template <InputType kType, Activation kActivation>
constexpr int kResident = kType != InputType::Fp32 && kActivation != Activation::None ? 3 : 2;

/// Eight warps work, the ninth finds tiles and brings them.
template <InputType kType, Fp8Format kFormat, TileScaling kScaling, Activation kActivation,
          bool kStamped>
__global__
__launch_bounds__(kBlockThreads, (kResident<kType, kActivation>)) void quantize_block_tile_kernel(
    const __grid_constant__ TileParameters parameters) {
  constexpr int kStages = kStagesFor<kType, kActivation>;
  extern __shared__ __align__(16) std::uint8_t dynamic_memory[];
  using Memory = BlockMemory<kType, kStages>;
  auto& memory = *reinterpret_cast<Memory*>(dynamic_memory);
  const QuantizeBlockArgs& args = parameters.args;
  const GroupedInput& input = args.input;
  const bool quantizes = args.controls.noop == nullptr || *args.controls.noop != 1.0F;
  if (!quantizes && args.bias_partials == nullptr) return;

  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / 32;
  const int lane = thread & 31;
  if (thread == 0) {
#pragma unroll
    for (int stage = 0; stage < kStages; ++stage) {
      memory.full[stage].init(32 + 1);  // the copies of each lane, and the description
      memory.empty[stage].init(kWarps);
    }
  }
  const Tables tables =
      make_tables<kScaling>(args, reinterpret_cast<std::int32_t*>(dynamic_memory + sizeof(Memory)));

  if (warp == kWarps) {
    TileDeal<kScaling> deal(args, tables);
    for (std::uint32_t turn = 0;; ++turn) {
      const std::uint32_t stage = turn % kStages;
      const Tile tile = deal.describe();
      deal.advance();
      if (turn >= kStages) memory.empty[stage].wait((turn / kStages - 1) & 1);
      if (lane == 0) memory.tiles[stage] = tile;
      if constexpr (kActivation == Activation::None) {
        if (tile.index >= 0) copy_tile<kType>(input, tile, memory.raw[stage]);
      }
      memory.full[stage].arrive_after_copies();
      if (lane == 0) memory.full[stage].arrive();
      if (tile.index < 0) break;
    }
    deal.finish();
    return;
  }

  if constexpr (kScaling == TileScaling::PerTensor) {
    // Here and not with a tile, because an empty group has none.
    if (parameters.group_scale_inv != nullptr && quantizes && blockIdx.x == 0) {
      for (int group = thread; group < input.num_groups; group += kThreads) {
        parameters.group_scale_inv[group] = __frcp_rn(parameters.group_scale[group]);
      }
    }
  }
  const auto blocks_per_row = static_cast<int>(ceil_div(input.columns, kBlock));
  const bool columnwise = args.columnwise.codes != nullptr || args.bias_partials != nullptr;
  const bool rowwise = args.rowwise.codes != nullptr && quantizes;
  for (std::uint32_t turn = 0;; ++turn) {
    const std::uint32_t stage = turn % kStages;
    const int parity = static_cast<int>(turn & 1);
    memory.full[stage].wait((turn / kStages) & 1);
    std::uint64_t begin_ns = 0;
    if constexpr (kStamped) begin_ns = global_time_ns();
    const Tile& tile = memory.tiles[stage];
    auto& raw = memory.raw[stage];
    if (tile.index < 0) break;
    if constexpr (kActivation != Activation::None) {
      activate_tile<kType, kActivation>(input, tile, raw);
      sync_workers();
    }

    const int first_line = warp * kWarpLines + lane / kLanesPerRow;
    float row_scale = 1.0F;     // 128x128: of the block of this warp's lines
    float column_scale = 1.0F;  // and of the block of this lane's segment
    if constexpr (kScaling == TileScaling::PerTensor) {
      row_scale = column_scale = parameters.group_scale[tile.group];
    }
    const bool wants_amax =
        kScaling == TileScaling::Block128x128 ||
        (kScaling == TileScaling::PerTensor && parameters.group_amax != nullptr && quantizes);
    if (wants_amax || rowwise) {
      RawStep<kType> values[kPasses];
#pragma unroll
      for (int pass = 0; pass < kPasses; ++pass) {
        values[pass] = shared_step<kType>(raw, first_line + 2 * pass, lane % kLanesPerRow);
      }
      if constexpr (kScaling == TileScaling::Block128x128) {
        float amax = 0.0F;
#pragma unroll
        for (int pass = 0; pass < kPasses; ++pass) {
          amax = fmaxf(amax, packed_step_amax(values[pass]));
        }
        const unsigned largest = __reduce_max_sync(kFullWarp, __float_as_uint(amax));
        // Two sets: a warp may be at the next tile while another still reads this one's.
        if (lane == 0) memory.warp_amax[parity][warp] = __uint_as_float(largest);
        sync_workers();
        // Lanes of a segment make the scale of the block that it belongs to.
        const int line = lane / kWarpPairs * kSegmentRows;
        const int first_warp = (line >> tile.row_bits << tile.row_bits) / kWarpLines;
        const int end_warp = first_warp + (1 << tile.row_bits) / kWarpLines;
        amax = 0.0F;
#pragma unroll
        for (int w = 0; w < kWarps; ++w) {
          if (w >= first_warp && w < end_warp) amax = fmaxf(amax, memory.warp_amax[parity][w]);
        }
        column_scale = scale_from_amax(amax, parameters.rule);
        row_scale =
            __shfl_sync(kFullWarp, column_scale, warp * kWarpLines / kSegmentRows * kWarpPairs);
        const int bx = tile.block(line);
        if (warp == 0 && lane % kWarpPairs == 0 && tile.row(line) == 0 && bx < blocks_per_row &&
            quantizes) {
          if (args.rowwise.codes != nullptr) {
            store_block_scale(args.rowwise, amax, column_scale,
                              std::int64_t{tile.strip} * ((blocks_per_row + 3) / 4 * 4) + bx);
          }
          if (args.columnwise.codes != nullptr) {
            const std::int64_t padded = (tile.out_m + 4 * kSide - 1) / (4 * kSide) * 4;
            store_block_scale(args.columnwise, amax, column_scale,
                              4 * std::int64_t{tile.scale_sum} * blocks_per_row + bx * padded +
                                  tile.strip_in_group);
          }
        }
      }
      if constexpr (kScaling == TileScaling::PerTensor) {
        if (wants_amax) {
          float amax = 0.0F;
#pragma unroll
          for (int pass = 0; pass < kPasses; ++pass) {
            amax = fmaxf(amax, packed_step_amax(values[pass]));
          }
          const unsigned largest = __reduce_max_sync(kFullWarp, __float_as_uint(amax));
          // Magnitudes order like their bits.
          if (lane == 0 && largest != 0) {
            atomicMax(reinterpret_cast<unsigned*>(parameters.group_amax + tile.group), largest);
          }
        }
      }
      if (rowwise) {
        quantize_rows<kType, kFormat, kScaling>(parameters, tile, values, row_scale);
      }
    }
    if (columnwise) {
      quantize_columns<kType, kFormat, kScaling>(parameters, tile, raw, memory.lines[warp],
                                                 quantizes, column_scale);
    }
    if constexpr (kStamped) {
      if (thread == 0 && tile.index < args.controls.stamps.capacity) {
        args.controls.stamps.stamps[tile.index] = {begin_ns, global_time_ns(), multiprocessor(),
                                                   tile.group};
      }
    }
    __syncwarp();
    if (lane == 0) memory.empty[stage].arrive();
  }
}

template <TileScaling kScaling>
cudaError_t launch_tile(const TileParameters& parameters, cudaStream_t stream) {
  const QuantizeBlockArgs& args = parameters.args;
  const GroupedInput& input = args.input;
  const bool padded = args.output_rows.row_offsets != nullptr;
  const std::int64_t capacity = padded ? args.output_rows.capacity_rows : input.capacity_rows;
  const std::int64_t strips = capacity / kBlock + input.num_groups;
  const std::int64_t tiles = strips * ceil_div(input.columns, kBlock);
  cudaError_t error = cudaSuccess;
  const auto launch =
      [&]<InputType kType, Fp8Format kFormat, Activation kActivation, bool kStamped>() {
        const int waves =
            args.controls.tickets != nullptr ? 1 : 4;  // tests/bench/gpu_quantize_bench
        const auto kernel =
            quantize_block_tile_kernel<kType, kFormat, kScaling, kActivation, kStamped>;
        const std::size_t bytes = sizeof(BlockMemory<kType, kStagesFor<kType, kActivation>>) +
                                  Tables::bytes(input.num_groups);
        error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(bytes));
        if (error != cudaSuccess) return;
        kernel<<<resident_grid(kernel, tiles, 1, waves, bytes, kBlockThreads), kBlockThreads, bytes,
                 stream>>>(parameters);
        error = cudaGetLastError();
      };
  // Row offsets and tile numbers are 32 bits wide on the device.
  if (tiles > INT32_MAX || std::max(capacity, input.capacity_rows) > INT32_MAX) {
    return cudaErrorInvalidValue;
  }
  const bool stamped = args.controls.stamps.stamps != nullptr;
  const bool swiglu = input.activation == Activation::SwiGlu;
  if (stamped && (swiglu || input.type != InputType::Bf16)) return cudaErrorNotSupported;
  dispatch_cast(input.type, args.format, [&](auto type, auto format) {
    if (swiglu) {
      launch.template operator()<type(), format(), Activation::SwiGlu, false>();
    } else if constexpr (type() == InputType::Bf16) {
      if (stamped) {
        launch.template operator()<type(), format(), Activation::None, true>();
      } else {
        launch.template operator()<type(), format(), Activation::None, false>();
      }
    } else {
      launch.template operator()<type(), format(), Activation::None, false>();
    }
  });
  return error;
}

}  // namespace kernels::block_tile

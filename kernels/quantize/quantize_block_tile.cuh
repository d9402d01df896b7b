// The kernel of quantize_block_tile.h, a template; quantize_block_tile_1x128.cu and _128x128.cu
// make its instances, so that they compile side by side.
#pragma once

#include "kernels/quantize/block_tile.cuh"
#include "kernels/quantize/quantize_block_tile.h"

namespace kernels::block_tile {

struct TileParameters {
  QuantizeBlockArgs args;
  ScaleRule rule;
};

/// One tile of the launch's walk: 128 rows of one block of 128 columns, or, where a group has 64
/// or 32 rows left, these of two or four such blocks. Its 128 lines are numbered through all
/// blocks, so that a tile is full of work either way: line l is row l % lines_per_block of block bx
/// + l / lines_per_block.
struct Tile {
  std::int32_t index = -1;  // in the order of the walk; -1 = there is none
  int bx = 0;               // first block of 128 columns
  int group = 0;
  int strip_in_group = 0;      // 128 rows of the output each
  int row_bits = 7;            // lines of a block: 128, 64 or 32
  int in_rows = 0;             // rows that the group has here; the others count as 0
  int out_rows = 0;            // rows to write
  std::int32_t out_m = 0;      // the group's rows in the outputs
  std::int64_t in_first = 0;   // row of the input
  std::int64_t out_begin = 0;  // the group's first row in the outputs

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

/// Prefix sums and row offsets of the groups, in shared memory.
struct Tables {
  std::int32_t* first_tile;
  std::int32_t* first_strip;  // of the outputs
  std::int32_t* scale_sums;   // 1x128: rows / 4, rowwise; 128x128: strips / 4, columnwise
  std::int32_t* bias_strips;  // of the input; only with bias partials
  std::int32_t* in_rows;      // row offsets
  std::int32_t* out_rows;     // the same as in_rows without padding
};

struct TableUse {
  bool bias = false;
  bool padded = false;
  __host__ __device__ std::size_t words(int groups) const {
    return static_cast<std::size_t>(4 + (bias ? 1 : 0) + (padded ? 1 : 0)) *
           static_cast<std::size_t>(groups + 1);
  }
};

__device__ __forceinline__ int left_row_bits(int rows) {
  return rows <= 32 ? 5 : rows <= 64 ? 6 : 7;
}

/// Chooses the tiles of this block of threads: in fixed turns, or, with tickets, whichever is next
/// when it asks. One warp does it for all.
class TileDeal {
 public:
  __device__ TileDeal(const QuantizeBlockArgs& args, const Tables& tables)
      : tickets_(args.controls.tickets),
        tables_(tables),
        groups_(args.input.num_groups),
        blocks_per_row_(static_cast<unsigned>(ceil_div(args.input.columns, kBlock))),
        asked_(static_cast<std::int32_t>(blockIdx.x)) {
    advance();
  }

  /// Goes on to the next tile: asks for its number, which is needed a tile later.
  __device__ void advance() {
    const int lane = static_cast<int>(threadIdx.x) & 31;
    index_ = asked_;
    if (tickets_ == nullptr) {
      asked_ += static_cast<std::int32_t>(gridDim.x);
    } else if (lane == 0) {
      asked_ = static_cast<std::int32_t>(gridDim.x + atomicAdd(tickets_, 1U));
    }
  }

  /// The present tile.
  __device__ Tile describe() {
    const std::int32_t index = __shfl_sync(kFullWarp, index_, 0);
    Tile tile;
    if (index < tables_.first_tile[groups_]) {
      // Numbers only rise, so the group is this one or a later one.
      if (index >= tables_.first_tile[group_ + 1]) {
        group_ = warp_find_group(tables_.first_tile, groups_, index);
      }
      tile.index = index;
      tile.group = group_;
      tile.out_begin = tables_.out_rows[group_];
      tile.out_m = tables_.out_rows[group_ + 1] - tables_.out_rows[group_];
      const auto local = static_cast<unsigned>(index - tables_.first_tile[group_]);
      const unsigned full_strips = static_cast<unsigned>(tile.out_m) / kSide;
      const unsigned strip = local / blocks_per_row_;
      if (strip < full_strips) {
        tile.strip_in_group = static_cast<int>(strip);
        tile.bx = static_cast<int>(local - strip * blocks_per_row_);
        tile.out_rows = kSide;
      } else {
        tile.strip_in_group = static_cast<int>(full_strips);
        tile.out_rows = tile.out_m % kSide;
        tile.row_bits = left_row_bits(tile.out_rows);
        tile.bx = static_cast<int>(local - full_strips * blocks_per_row_) << (7 - tile.row_bits);
      }
      const int row_in_group = tile.strip_in_group * kSide;
      const int in_rows = tables_.in_rows[group_ + 1] - tables_.in_rows[group_];
      tile.in_first = std::int64_t{tables_.in_rows[group_]} + row_in_group;
      tile.in_rows = max(0, min(kSide, in_rows - row_in_group));
    }
    return tile;
  }

  /// The last block to get here leaves the tickets as it found them.
  __device__ void finish() const {
    if (threadIdx.x % 32 != 0 || tickets_ == nullptr) return;
    if (atomicInc(tickets_ + 1, gridDim.x - 1) == gridDim.x - 1) *tickets_ = 0;
  }

 private:
  std::uint32_t* tickets_;
  const Tables& tables_;
  int groups_;
  unsigned blocks_per_row_;
  std::int32_t asked_;
  std::int32_t index_ = 0;
  int group_ = 0;
};

/// Places the tables in `memory` and fills them.
template <bool kSquare>
__device__ __forceinline__ Tables make_tables(const QuantizeBlockArgs& args, std::int32_t* memory,
                                              std::int32_t* warp_totals) {
  const int groups = args.input.num_groups;
  const int stride = groups + 1;
  const bool padded = args.output_rows.row_offsets != nullptr;
  const bool bias = args.bias_partials != nullptr;
  Tables tables;
  tables.first_tile = memory;
  tables.first_strip = memory + stride;
  tables.scale_sums = memory + 2 * stride;
  tables.in_rows = memory + 3 * stride;
  tables.out_rows = padded ? memory + 4 * stride : tables.in_rows;
  tables.bias_strips = bias ? memory + (padded ? 5 : 4) * stride : nullptr;
  for (int i = static_cast<int>(threadIdx.x); i < stride; i += kBlockThreads) {
    tables.in_rows[i] = static_cast<std::int32_t>(args.input.row_offsets[i]);
    if (padded) tables.out_rows[i] = static_cast<std::int32_t>(args.output_rows.row_offsets[i]);
  }
  __syncthreads();
  const auto blocks_per_row = static_cast<int>(ceil_div(args.input.columns, kBlock));
  build_sum_tables<kBlockThreads>(
      {tables.first_tile, tables.first_strip, tables.scale_sums, tables.bias_strips}, bias ? 4 : 3,
      groups, warp_totals, [&](int table, int group) {
        const std::int32_t* rows = table == 3 ? tables.in_rows : tables.out_rows;
        const int m = rows[group + 1] - rows[group];
        // 1x128 rowwise scales are padded to 4 rows a group, 128x128 columnwise ones to 4 strips.
        if (table == 2) return kSquare ? (m + 4 * kSide - 1) / (4 * kSide) : (m + 3) / 4;
        if (table != 0) return (m + kSide - 1) / kSide;
        const int left = m % kSide;
        const int wide = left == 0 ? 0 : 1 << (7 - left_row_bits(left));
        return m / kSide * blocks_per_row + (left == 0 ? 0 : (blocks_per_row + wide - 1) / wide);
      });
  return tables;
}

/// Brings a tile to shared memory; one warp calls. The copies are in flight when this returns.
template <InputType kType>
__device__ __forceinline__ void copy_tile(const GroupedInput& input, const Tile& tile,
                                          uint4 (&raw)[kSide][kRowPieces<kType>]) {
  constexpr int kPieces = kRowPieces<kType>;
  constexpr int kRowsAtOnce = 32 / kPieces;
  constexpr int kPieceSteps = RawStep<kType>::kWords / 4;  // pieces of a step
  static_assert(kRowsAtOnce >= 1);
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int piece = lane % kPieces;
  const std::int64_t pieces_per_row = input.columns / kStep * kPieceSteps;
  const auto* source = static_cast<const uint4*>(input.input);
#pragma unroll 8
  for (int line = lane / kPieces; line < kSide; line += kRowsAtOnce) {
    const int row = tile.row(line);
    const std::int64_t in_row = std::int64_t{tile.block(line)} * kPieces + piece;
    const bool inside = row < tile.in_rows && in_row < pieces_per_row;
    // An address outside the operand is never formed, though zeros would not read it.
    copy_piece(&raw[line][raw_piece<kType>(line, piece)],
               inside ? source + (tile.in_first + row) * pieces_per_row + in_row : source, inside);
  }
}

/// The same through registers, with the activation on the way; all working warps call.
template <InputType kType, Activation kActivation>
__device__ __forceinline__ void activate_tile(const GroupedInput& input, const Tile& tile,
                                              uint4 (&raw)[kSide][kRowPieces<kType>]) {
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
      raw[line][raw_piece<kType>(line, step * kVectors + i)] = {
          values.words[4 * i], values.words[4 * i + 1], values.words[4 * i + 2],
          values.words[4 * i + 3]};
    }
  }
}

/// A barrier of the working warps alone.
__device__ __forceinline__ void sync_workers() {
  asm volatile("bar.sync 1, %0;" ::"n"(kThreads) : "memory");
}

template <InputType kType>
__device__ __forceinline__ RawStep<kType> shared_step(const uint4 (&raw)[kSide][kRowPieces<kType>],
                                                      int row, int step) {
  constexpr int kVectors = RawStep<kType>::kWords / 4;
  RawStep<kType> values;
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const uint4 piece = raw[row][raw_piece<kType>(row, step * kVectors + i)];
    values.words[4 * i] = piece.x;
    values.words[4 * i + 1] = piece.y;
    values.words[4 * i + 2] = piece.z;
    values.words[4 * i + 3] = piece.w;
  }
  return values;
}

/// The lines of this warp: amax and scale of each (1x128; the block's own scale otherwise), codes.
template <InputType kType, Fp8Format kFormat, bool kSquare>
__device__ __forceinline__ void quantize_rows(const TileParameters& parameters, const Tile& tile,
                                              const RawStep<kType> (&values)[kPasses],
                                              std::int32_t scale_sum, float block_scale) {
  const QuantizeBlockArgs& args = parameters.args;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int step = lane % kLanesPerRow;
  const int first_line =
      static_cast<int>(threadIdx.x / 32) * (kSide / kWarps) + lane / kLanesPerRow;
  const std::int64_t steps_per_row = args.input.columns / kStep;
  const auto blocks_per_row = static_cast<int>(ceil_div(args.input.columns, kBlock));
  float row_scale = block_scale;  // 1x128: of line lane / 2 (of the sixteen lanes) of the thread's
  if constexpr (!kSquare) {
    float amax[kPasses];
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) amax[pass] = packed_step_amax(values[pass]);
    const float row_amax = scatter_row_amax(amax);
    row_scale = scale_from_amax(row_amax, parameters.rule);
    const int line = first_line + step / 2 * 2;
    if (lane % 2 == 0 && tile.row(line) < tile.out_rows && tile.block(line) < blocks_per_row) {
      const std::int64_t padded = (tile.out_m + 3) / 4 * 4;
      store_block_scale(args.rowwise, row_amax, row_scale,
                        4 * std::int64_t{scale_sum} * blocks_per_row + tile.block(line) * padded +
                            tile.strip_in_group * kSide + tile.row(line));
    }
  }
  const std::int64_t first_row = tile.out_begin + tile.strip_in_group * kSide;
#pragma unroll
  for (int pass = 0; pass < kPasses; ++pass) {
    const int line = first_line + 2 * pass;
    float scale = block_scale;
    if constexpr (!kSquare) {
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
template <InputType kType, Fp8Format kFormat, bool kSquare>
__device__ __forceinline__ void quantize_columns(const TileParameters& parameters, const Tile& tile,
                                                 const uint4 (&raw)[kSide][kRowPieces<kType>],
                                                 uint4 (&lines)[kWarpPairs][kSide / 16],
                                                 std::int64_t bias_row, std::int64_t scale_row,
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
  const int piece = raw_piece<kType>(segment * kSegmentRows, column / 2 / kPairsPerPiece);
  std::uint32_t kept[kKeep ? kSegmentRows : 1];
  if constexpr (kKeep) {
#pragma unroll
    for (int i = 0; i < kSegmentRows; ++i) {
      kept[i] = reinterpret_cast<const std::uint32_t*>(
          &raw[segment * kSegmentRows + i][piece])[pair % kPairsPerPiece];
    }
  }
  const auto values_at = [&](int i) {
    if constexpr (kKeep) {
      return word_values<kType>(kept[i]);
    } else {
      return reinterpret_cast<const float2*>(
          &raw[segment * kSegmentRows + i][piece])[pair % kPairsPerPiece];
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
      *reinterpret_cast<float2*>(args.bias_partials + bias_row * args.input.columns + full_column) =
          sum;
    }
  }
  if (args.columnwise.codes == nullptr || !quantizes) return;

  float2 scale = {block_scale, block_scale};
  if constexpr (!kSquare) {
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
    const std::int64_t index = scale_row * args.input.columns + full_column;
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

/// Two stages hide one tile's loads behind another's work. Activated elements come through
/// registers, and FP32 tiles are too big: those rely on several blocks an SM.
template <InputType kType, Activation kActivation>
constexpr int kStagesFor = kType == InputType::Fp32 || kActivation != Activation::None ? 1 : 2;
template <InputType kType>
constexpr int kResident = kType == InputType::Fp32 ? 2 : 3;

/// Eight warps work, the ninth finds tiles and brings them.
template <InputType kType, Fp8Format kFormat, bool kSquare, Activation kActivation, bool kStamped>
__global__ __launch_bounds__(kBlockThreads, kResident<kType>) void quantize_block_tile_kernel(
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
  const Tables tables = make_tables<kSquare>(
      args, reinterpret_cast<std::int32_t*>(dynamic_memory + sizeof(Memory)), memory.warp_totals);

  if (warp == kWarps) {
    TileDeal deal(args, tables);
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
    if (kSquare || rowwise) {
      RawStep<kType> values[kPasses];
#pragma unroll
      for (int pass = 0; pass < kPasses; ++pass) {
        values[pass] = shared_step<kType>(raw, first_line + 2 * pass, lane % kLanesPerRow);
      }
      if constexpr (kSquare) {
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
                              (std::int64_t{tables.first_strip[tile.group]} + tile.strip_in_group) *
                                      ((blocks_per_row + 3) / 4 * 4) +
                                  bx);
          }
          if (args.columnwise.codes != nullptr) {
            const std::int64_t padded = (tile.out_m + 4 * kSide - 1) / (4 * kSide) * 4;
            store_block_scale(args.columnwise, amax, column_scale,
                              4 * std::int64_t{tables.scale_sums[tile.group]} * blocks_per_row +
                                  bx * padded + tile.strip_in_group);
          }
        }
      }
      if (rowwise) {
        quantize_rows<kType, kFormat, kSquare>(parameters, tile, values,
                                               tables.scale_sums[tile.group], row_scale);
      }
    }
    if (columnwise) {
      const std::int64_t bias_row =
          args.bias_partials != nullptr ? tables.bias_strips[tile.group] + tile.strip_in_group : 0;
      quantize_columns<kType, kFormat, kSquare>(
          parameters, tile, raw, memory.lines[warp], bias_row,
          std::int64_t{tables.first_strip[tile.group]} + tile.strip_in_group, quantizes,
          column_scale);
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

template <bool kSquare>
cudaError_t launch_tile(const QuantizeBlockArgs& args, cudaStream_t stream) {
  const GroupedInput& input = args.input;
  const bool padded = args.output_rows.row_offsets != nullptr;
  const std::int64_t capacity = padded ? args.output_rows.capacity_rows : input.capacity_rows;
  const std::int64_t strips = capacity / kBlock + input.num_groups;
  const std::int64_t tiles = strips * ceil_div(input.columns, kBlock);
  const TileParameters parameters{.args = args, .rule = block_scale_rule(args)};
  cudaError_t error = cudaSuccess;
  const auto launch =
      [&]<InputType kType, Fp8Format kFormat, Activation kActivation, bool kStamped>() {
        const int waves =
            args.controls.tickets != nullptr ? 1 : 4;  // tests/bench/gpu_quantize_bench
        const auto kernel =
            quantize_block_tile_kernel<kType, kFormat, kSquare, kActivation, kStamped>;
        const std::size_t bytes =
            sizeof(BlockMemory<kType, kStagesFor<kType, kActivation>>) +
            TableUse{.bias = args.bias_partials != nullptr, .padded = padded}.words(
                input.num_groups) *
                sizeof(std::int32_t);
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

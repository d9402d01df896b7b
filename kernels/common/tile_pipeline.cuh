// The pipeline that quantizes a grouped operand tile by tile: 128 x 128 elements are brought to
// shared memory by a warp of its own while eight warps work on the tiles before it, which they read
// from there as often as they like. What is done to a tile is a Worker; everything else (finding
// tiles of groups with any number of rows, padding, tickets, stamps) is here, once.
//
// A Worker is a class with
//   kType, kActivation, kStamped    input type, activation, whether stamps are written
//   kBackwards                      tiles in falling order (the pass before left the tail in L2)
//   Parameters                      of the kernel, with `TileOperand operand()`
//   Shared                          its own shared memory
//   first_units(m), second_units(m), kSecondOfInput: what the two coarse prefix sums over the
//   groups
//                                   count for a group of m rows of the output (or of the input)
//   Worker(parameters, shared)      made by every working thread
//   work(tile, raw, turn)           for every tile; no barrier but sync_workers()
//   finish()                        after the last tile
#pragma once

#include "kernels/common/activated_step.cuh"
#include "kernels/common/launch.cuh"
#include "kernels/common/stage_barrier.cuh"
#include "kernels/common/sum_table.cuh"

namespace kernels::tiles {

inline constexpr int kSide = static_cast<int>(kBlock);
inline constexpr int kWarps = kThreads / 32;         // that work
inline constexpr int kBlockThreads = kThreads + 32;  // and one that brings tiles
inline constexpr int kLanesPerRow = kSide / kStep;
inline constexpr int kPasses = kSide * kSide / kStep / kThreads;  // steps of one thread, rowwise
inline constexpr int kWarpPairs = kSide / 2 / kWarps;             // column pairs of a warp
inline constexpr int kSegments = 32 / kWarpPairs;                 // of the rows, columnwise
inline constexpr int kSegmentRows = kSide / kSegments;
inline constexpr int kWarpLines = kSide / kWarps;  // rows of a warp, rowwise
static_assert(kWarpPairs == 8 && kSegmentRows == 32);

/// 16-byte pieces of a row of the tile.
template <InputType kType>
inline constexpr int kRowPieces = kSide * RawStep<kType>::kWords / kStep / 4;

/// The elements of a tile. Rows of different segments are read together, one pair of neighbouring
/// columns each, so every segment starts a few banks later than the one before.
template <InputType kType>
struct RawTile {
  static constexpr int kPadding = kRowPieces<kType> / kWarps;  // pieces that a warp reads of a row
  uint4 pieces[kSide * kRowPieces<kType> + kSegments * kPadding];

  __device__ __forceinline__ uint4* row(int line) {
    return &pieces[line * kRowPieces<kType> + line / kSegmentRows * kPadding];
  }
  __device__ __forceinline__ const uint4* row(int line) const {
    return &pieces[line * kRowPieces<kType> + line / kSegmentRows * kPadding];
  }
};

/// What the pipeline needs to know of a launch.
struct TileOperand {
  GroupedInput input;
  OutputRows output_rows;
  LaunchControls controls;
  bool second_sums = false;   // whether the worker uses its second prefix sum
  bool ignores_noop = false;  // bias partials are written all the same
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
  std::int32_t strip = 0;      // of all groups' outputs
  std::int32_t first_sum = 0;  // units before the group, as the worker counts them
  std::int32_t second_sum = 0;
  std::int64_t in_first = 0;   // row of the input
  std::int64_t out_begin = 0;  // the group's first row in the outputs
  // Of the rowwise outputs, which OutputRows may leave as the input has them:
  int rowwise_rows = 0;            // to write
  std::int32_t rowwise_m = 0;      // the group's
  std::int64_t rowwise_first = 0;  // the tile's first

  __device__ int row(int line) const { return line & ((1 << row_bits) - 1); }
  __device__ int block(int line) const { return bx + (line >> row_bits); }
};

/// Starts to copy 16 bytes to shared memory without passing registers; zeros where `inside` is
/// false. Copies this small keep the memory busier than bulk copies of single rows do.
__device__ __forceinline__ void copy_piece(uint4* target, const void* source, bool inside) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(target));
  const int bytes = inside ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(source),
               "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void copy_piece(uint4* target, const void* source) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(target));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(source) : "memory");
}

/// Prefix sums over the groups, in shared memory. The coarse ones hold every 32nd: with all of
/// each, two thread blocks of some workers would not fit an SM at 1024 groups.
struct Tables {
  std::int32_t* first_tile;
  std::int32_t* strips;       // coarse; of the outputs
  std::int32_t* first_sums;   // coarse; what Worker::first_units() counts
  std::int32_t* second_sums;  // coarse; what Worker::second_units() counts

  __host__ __device__ static int coarse(int groups) { return groups / 32 + 1; }
  static std::size_t bytes(int groups) {
    return static_cast<std::size_t>(groups + 1 + 3 * coarse(groups)) * sizeof(std::int32_t);
  }
};

__device__ __forceinline__ int strips_of(int m) { return (m + kSide - 1) / kSide; }
__device__ __forceinline__ int left_row_bits(int rows) {
  return rows <= 32 ? 5 : rows <= 64 ? 6 : 7;
}

/// The rows that Worker::first_units() counts: those of the rowwise outputs. (Block 128x128 counts
/// columnwise units of 512 rows, which padding to a divisor of 128 leaves as they are.)
__device__ __forceinline__ const std::int64_t* first_sum_offsets(const TileOperand& args) {
  const bool padded = args.output_rows.row_offsets != nullptr && !args.output_rows.columnwise_only;
  return padded ? args.output_rows.row_offsets : args.input.row_offsets;
}

/// Chooses the tiles of this block of threads: in fixed turns, or, with tickets, whichever is next
/// when it asks. One warp does it for all.
template <class Worker>
class TileDeal {
 public:
  __device__ TileDeal(const TileOperand& args, const Tables& tables)
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
    if constexpr (Worker::kBackwards) index = tiles - 1 - index;
    if (group_ < 0 || index < tables_.first_tile[group_] ||
        index >= tables_.first_tile[group_ + 1]) {
      enter(warp_find_group(tables_.first_tile, groups, index));
    }
    tile.index = index;
    tile.group = group_;
    tile.out_begin = out_begin_;
    tile.out_m = out_m_;
    tile.first_sum = first_sum_;
    tile.second_sum = second_sum_;
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
    tile.strip = first_strip_ + tile.strip_in_group;
    const int row_in_group = tile.strip_in_group * kSide;
    tile.in_first = in_begin_ + row_in_group;
    tile.in_rows = max(0, min(kSide, in_m_ - row_in_group));
    const bool unpadded = args_.output_rows.columnwise_only;
    tile.rowwise_rows = unpadded ? tile.in_rows : tile.out_rows;
    tile.rowwise_m = unpadded ? in_m_ : out_m_;
    tile.rowwise_first = unpadded ? tile.in_first : out_begin_ + row_in_group;
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
    first_strip_ = tables_.strips[group / 32] + sum_before(out_offsets_, strips_of);
    first_sum_ = tables_.first_sums[group / 32] +
                 sum_before(first_sum_offsets(args_), [](int m) { return Worker::first_units(m); });
    if (args_.second_sums) {
      second_sum_ = tables_.second_sums[group / 32] +
                    sum_before(Worker::kSecondOfInput ? in_offsets : out_offsets_,
                               [](int m) { return Worker::second_units(m); });
    }
  }

  /// Of the groups between the last entry of a coarse table and this one.
  template <class Count>
  __device__ std::int32_t sum_before(const std::int64_t* offsets, Count count) const {
    const int other = group_ / 32 * 32 + (static_cast<int>(threadIdx.x) & 31);
    const int m = other < group_ ? static_cast<int>(offsets[other + 1] - offsets[other]) : 0;
    return __reduce_add_sync(kFullWarp, count(m));
  }

  const TileOperand& args_;
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
  std::int32_t first_strip_ = 0;
  std::int32_t first_sum_ = 0;
  std::int32_t second_sum_ = 0;
};

/// Places the tables in `memory` and fills them.
template <class Worker>
__device__ __forceinline__ Tables make_tables(const TileOperand& args, std::int32_t* memory) {
  const int groups = args.input.num_groups;
  Tables tables;
  tables.first_tile = memory;
  tables.strips = memory + groups + 1;
  tables.first_sums = tables.strips + Tables::coarse(groups);
  tables.second_sums = tables.first_sums + Tables::coarse(groups);
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
      warp_sum_table<32>(tables.strips, out_offsets, groups, strips_of);
      break;
    case 2:
      warp_sum_table<32>(tables.first_sums, first_sum_offsets(args), groups,
                         [](int m) { return Worker::first_units(m); });
      break;
    case 3:
      if (args.second_sums) {
        warp_sum_table<32>(tables.second_sums, Worker::kSecondOfInput ? in_offsets : out_offsets,
                           groups, [](int m) { return Worker::second_units(m); });
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

/// Three stages and two blocks an SM keep enough loads in flight behind the work (two and three
/// were 7 % slower, tests/bench/gpu_quantize_bench). Activated elements come through registers, and
/// FP32 tiles are too big: those rely on several blocks an SM.
template <InputType kType, Activation kActivation>
constexpr int kStagesFor = kType == InputType::Fp32 || kActivation != Activation::None ? 1 : 3;
template <InputType kType, Activation kActivation>
constexpr int kResident = kType != InputType::Fp32 && kActivation != Activation::None ? 3 : 2;

template <class Worker>
inline constexpr int kWorkerStages = kStagesFor<Worker::kType, Worker::kActivation>;

/// Everything of a fixed size; the tables follow it.
template <class Worker>
struct PipelineMemory {
  RawTile<Worker::kType> raw[kWorkerStages<Worker>];
  typename Worker::Shared shared;
  Tile tiles[kWorkerStages<Worker>];
  StageBarrier full[kWorkerStages<Worker>];
  StageBarrier empty[kWorkerStages<Worker>];
};

__device__ __forceinline__ std::uint64_t global_time_ns() {
  std::uint64_t time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

__device__ __forceinline__ std::uint32_t multiprocessor() {
  std::uint32_t sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  return sm;
}

/// Eight warps work, the ninth finds tiles and brings them.
template <class Worker>
__global__
__launch_bounds__(kBlockThreads, (kResident<Worker::kType, Worker::kActivation>)) void tile_kernel(
    const __grid_constant__ typename Worker::Parameters parameters) {
  wait_for_predecessor();
  constexpr InputType kType = Worker::kType;
  constexpr Activation kActivation = Worker::kActivation;
  constexpr int kStages = kWorkerStages<Worker>;
  extern __shared__ __align__(16) std::uint8_t dynamic_memory[];
  using Memory = PipelineMemory<Worker>;
  auto& memory = *reinterpret_cast<Memory*>(dynamic_memory);
  const TileOperand operand = parameters.operand();
  const GroupedInput& input = operand.input;
  const bool quantizes = operand.controls.noop == nullptr || *operand.controls.noop != 1.0F;
  if (!quantizes && !operand.ignores_noop) return;

  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / 32;
  const int lane = thread & 31;
  if (thread == 0) {
#pragma unroll
    for (int stage = 0; stage < kStages; ++stage) {
      memory.full[stage].init(32 + 1);  // the copies of each lane, and the description
      memory.empty[stage].init(kThreads);
    }
  }
  const Tables tables = make_tables<Worker>(
      operand, reinterpret_cast<std::int32_t*>(dynamic_memory + sizeof(Memory)));

  if (warp == kWarps) {
    TileDeal<Worker> deal(operand, tables);
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

  Worker worker(parameters, memory.shared, quantizes);
  for (std::uint32_t turn = 0;; ++turn) {
    const std::uint32_t stage = turn % kStages;
    memory.full[stage].wait((turn / kStages) & 1);
    std::uint64_t begin_ns = 0;
    if constexpr (Worker::kStamped) begin_ns = global_time_ns();
    const Tile& tile = memory.tiles[stage];
    auto& raw = memory.raw[stage];
    if (tile.index < 0) break;
    if constexpr (kActivation != Activation::None) {
      activate_tile<kType, kActivation>(input, tile, raw);
      sync_workers();
    }
    worker.work(tile, raw, turn);
    if constexpr (Worker::kStamped) {
      if (thread == 0 && tile.index < operand.controls.stamps.capacity) {
        operand.controls.stamps.stamps[tile.index] = {begin_ns, global_time_ns(), multiprocessor(),
                                                      tile.group};
      }
    }
    memory.empty[stage].arrive();
  }
  worker.finish();
}

template <class Worker>
cudaError_t launch_tiles(const typename Worker::Parameters& parameters, LaunchStream stream) {
  const TileOperand operand = parameters.operand();
  const GroupedInput& input = operand.input;
  const std::int64_t capacity = operand.output_rows.row_offsets != nullptr
                                    ? operand.output_rows.capacity_rows
                                    : input.capacity_rows;
  const std::int64_t strips = capacity / kBlock + input.num_groups;
  const std::int64_t tiles = strips * ceil_div(input.columns, kBlock);
  // Row offsets and tile numbers are 32 bits wide on the device.
  if (tiles > INT32_MAX || std::max(capacity, input.capacity_rows) > INT32_MAX) {
    return cudaErrorInvalidValue;
  }
  const int waves = operand.controls.tickets != nullptr ? 1 : 4;  // tests/bench/gpu_quantize_bench
  const auto kernel = tile_kernel<Worker>;
  const std::size_t bytes = sizeof(PipelineMemory<Worker>) + Tables::bytes(input.num_groups);
  if (const cudaError_t refused = cudaFuncSetAttribute(
          kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
      refused != cudaSuccess) {
    return refused;
  }
  return launch_dependent(kernel,
                          {.grid = resident_grid(kernel, tiles, 1, waves, bytes, kBlockThreads),
                           .threads = kBlockThreads,
                           .shared_bytes = bytes},
                          stream, parameters);
}

/// Calls launch.template operator()<type, format, activation, stamped>() for what a launch asks
/// for. Stamped instances exist for BF16 without activation; cudaErrorNotSupported otherwise.
template <class Launch>
cudaError_t dispatch_tiles(const TileOperand& operand, Fp8Format format, Launch launch) {
  const bool stamped = operand.controls.stamps.stamps != nullptr;
  const bool swiglu = operand.input.activation == Activation::SwiGlu;
  if (stamped && (swiglu || operand.input.type != InputType::Bf16)) return cudaErrorNotSupported;
  cudaError_t error = cudaSuccess;
  dispatch_cast(operand.input.type, format, [&](auto type, auto target) {
    if (swiglu) {
      error = launch.template operator()<type(), target(), Activation::SwiGlu, false>();
    } else if constexpr (type() == InputType::Bf16) {
      error = stamped ? launch.template operator()<type(), target(), Activation::None, true>()
                      : launch.template operator()<type(), target(), Activation::None, false>();
    } else {
      error = launch.template operator()<type(), target(), Activation::None, false>();
    }
  });
  return error;
}

}  // namespace kernels::tiles

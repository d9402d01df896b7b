// The M-grouped kernel of FP8 block scaling. kernels/README.md has a picture.
//
// A cluster of two blocks computes tiles that lie side by side, and goes from tile to tile until
// none is left. In each block one thread loads 128 of the reduction per stage, and two warpgroups
// multiply: each has 64 of the upper and 64 of the lower 128 rows, one after the other in the same
// registers, whose products are scaled and added while the other warpgroup uses the tensor cores.
// They stage their output, and a warp for each of them has the copy engine store it.
//
// The order of instructions in the main loop decides a lot: where something that waits (a scale
// from shared memory, a uniform register that is still read) lies between the four instructions of
// a product, the other warpgroup's come in between, both scale at the same time, and the tensor
// cores idle. One such place cost 6 %; measure after every change, also of code outside of the
// loop.
#pragma once

#include "kernels/common/device_time.cuh"
#include "kernels/common/launch.cuh"
#include "kernels/product/m_grouped_tiles.cuh"
#include "kernels/product/stage_ring.cuh"
#include "kernels/product/staged_rows.cuh"
#include "kernels/product/tensor_copy.cuh"
#include "kernels/product/tensor_core.cuh"
#include "kernels/product/warp_lanes.cuh"

namespace kernels::products {

/// Two pieces of a warp's output on their way out.
using StagedPair = StagedRows[2];

/// Where the copy engine stores a warp's pair.
struct MGroupedTarget {
  static constexpr int kNowhere = -1;  // the warp has stored it itself
  static constexpr int kEnd = -2;      // there are no more
  int row;
  int column;
};

template <int kTileRows>
struct MGroupedStage {
  std::uint8_t x[kTileRows][kBlock];  // swizzled lines
  std::uint8_t w[MGrouped::kTileColumns][kBlock];
};

template <int kTileRows>
struct MGroupedMemory {
  static constexpr int kHalves = kTileRows / MGrouped::kHalfRows;
  static constexpr int kStages = kTileRows == 256 ? 3 : 5;  // that fit
  static constexpr int kPairs = kHalves;  // of pieces: all of a warp's output in 16 bits

  MGroupedStage<kTileRows> stages[kStages];
  StagedPair staged[kPairs][MGrouped::kMathWarps];
  float x_scales[kStages][kTileRows];
  MGroupedTile tiles[kStages];
  float w_scales[kStages];
  StageBarrier full[kStages];
  StageBarrier empty[kStages];
  // A warpgroup's output: staged, and read by the copy engine.
  StageBarrier staged_full[MGrouped::kWarpgroups][kPairs];
  StageBarrier staged_empty[MGrouped::kWarpgroups][kPairs];
  MGroupedTarget targets[kPairs][MGrouped::kMathWarps];
  ClusterTickets tickets;
  // std::int32_t first_tile [groups + 1], first_scale [groups + 1] follow.
};
template <int kTileRows>
std::size_t m_grouped_shared_bytes(int groups) {
  return sizeof(MGroupedMemory<kTileRows>) +
         2 * (static_cast<std::size_t>(groups) + 1) * sizeof(std::int32_t);
}

/// The tensor maps of a launch. Boxes are what one instruction copies.
struct MGroupedMaps {
  CUtensorMap x;       // [capacity, reduction] codes
  CUtensorMap w;       // [groups * columns, reduction] codes
  CUtensorMap output;  // [capacity, columns]
};

/// The warp that loads; one lane issues the copies.
template <int kTileRows>
class MGroupedLoader {
  using Memory = MGroupedMemory<kTileRows>;

 public:
  __device__ __forceinline__ MGroupedLoader(const MGroupedMaps& maps,
                                            const MGroupedParameters& parameters, Memory& memory,
                                            const MGroupedTables& tables)
      : maps_(maps),
        parameters_(parameters),
        memory_(memory),
        tables_(tables),
        lane_(static_cast<int>(threadIdx.x) % 32) {}

  __device__ __forceinline__ void work() {
    MGroupedTiles<kTileRows> tiles(parameters_, tables_, memory_.tickets);
    MGroupedTile tile = tiles.next();
    while (tile.rows > 0) {
      const Sources from = sources(tile);
      float w_scale = lane_ < parameters_.blocks ? __ldg(from.w_scales + lane_) : 0.0F;
      load(tile, from, 0, __shfl_sync(kFullWarp, w_scale, 0));
      const MGroupedTile next = tiles.next();  // while the first stages are on their way
      for (int block = 1; block < parameters_.blocks; ++block) {
        if (block % 32 == 0) {
          w_scale =
              block + lane_ < parameters_.blocks ? __ldg(from.w_scales + block + lane_) : 0.0F;
        }
        load(tile, from, block, __shfl_sync(kFullWarp, w_scale, block % 32));
      }
      tile = next;
    }
    tiles.finish();
    memory_.empty[ring_.stage].wait(ring_.parity ^ 1);
    if (elected()) {
      memory_.tiles[ring_.stage] = tile;
      memory_.full[ring_.stage].arrive();
    }
  }

 private:
  /// Where a tile's operands are, and how much of them there is.
  struct Sources {
    const float* x_scales;  // of block 0
    const float* w_scales;
    int scale_pitch;
    int boxes;
    std::uint32_t scale_bytes;
    int line;  // of the weights
  };

  __device__ __forceinline__ Sources sources(const MGroupedTile& tile) const {
    const auto begin = static_cast<int>(parameters_.row_offsets[tile.group]);
    const auto end = static_cast<int>(parameters_.row_offsets[tile.group + 1]);
    const int in_group = uniform(tile.first_row - begin);
    const int blocks = parameters_.blocks;
    const int squares = (parameters_.columns + MGrouped::kTileColumns - 1) / MGrouped::kTileColumns;
    // The second tile of the last pair may be outside.
    const int square = min(tile.column / MGrouped::kTileColumns, squares - 1);
    return {.x_scales = parameters_.x_scales +
                        std::int64_t{uniform(tables_.first_scale[tile.group])} * blocks + in_group,
            .w_scales = parameters_.w_scales +
                        (std::int64_t{tile.group} * squares + square) * ((blocks + 3) / 4 * 4),
            .scale_pitch = uniform(end - begin + 3) / 4 * 4,
            .boxes = min((tile.rows + MGrouped::kBoxRows - 1) / MGrouped::kBoxRows,
                         kTileRows / MGrouped::kBoxRows),
            .scale_bytes = static_cast<std::uint32_t>(min((tile.rows + 3) / 4 * 4, kTileRows) *
                                                      static_cast<int>(sizeof(float))),
            .line = tile.group * parameters_.columns + tile.column};
  }

  __device__ __forceinline__ void load(const MGroupedTile& tile, const Sources& from, int block,
                                       float w_scale) {
    constexpr int kBoxRows = MGrouped::kBoxRows;
    constexpr int kLine = static_cast<int>(kBlock);
    MGroupedStage<kTileRows>& stage = memory_.stages[ring_.stage];
    StageBarrier& full = memory_.full[ring_.stage];
    memory_.empty[ring_.stage].wait(ring_.parity ^ 1);
    if (elected()) {
      if (block == 0) memory_.tiles[ring_.stage] = tile;
      memory_.w_scales[ring_.stage] = w_scale;
      full.arrive_and_expect(static_cast<std::uint32_t>(from.boxes * kBoxRows * kLine) +
                             static_cast<std::uint32_t>(sizeof(MGroupedStage<kTileRows>::w)) +
                             from.scale_bytes);
      load_box(shared_address(stage.w), maps_.w, full, block * kLine, from.line);
      load_bytes(shared_address(memory_.x_scales[ring_.stage]),
                 from.x_scales + std::int64_t{block} * from.scale_pitch, from.scale_bytes, full);
#pragma unroll
      for (int i = 0; i < kTileRows / kBoxRows / MGrouped::kCluster; ++i) {
        const int box = static_cast<int>(blockIdx.x) % MGrouped::kCluster + i * MGrouped::kCluster;
        if (box >= from.boxes) break;
        load_box_for_all<MGrouped::kCluster>(shared_address(stage.x[box * kBoxRows]), maps_.x, full,
                                             block * kLine, tile.first_row + box * kBoxRows);
      }
    }
    __syncwarp();
    ring_.advance();
  }

  const MGroupedMaps& maps_;
  const MGroupedParameters& parameters_;
  Memory& memory_;
  const MGroupedTables& tables_;
  int lane_;
  RingPlace<Memory::kStages> ring_;
};

/// A warp of one of the two warpgroups.
template <Fp8Format kX, InputType kType, int kTileRows>
class MGroupedWarp {
  using Memory = MGroupedMemory<kTileRows>;

 public:
  __device__ __forceinline__ MGroupedWarp(const MGroupedMaps& maps,
                                          const MGroupedParameters& parameters, Memory& memory,
                                          int warp)
      : maps_(maps),
        parameters_(parameters),
        memory_(memory),
        warp_(warp),
        lane_(static_cast<int>(threadIdx.x) % 32),
        // The barriers of this block for lane 0, those of its neighbour for lane 1.
        empty_(in_block(memory.empty[0].address(), lane_ % MGrouped::kCluster)) {}

  __device__ __forceinline__ void work() {
    for (;;) {
      memory_.full[ring_.stage].wait(ring_.parity);
      MGroupedTile tile = memory_.tiles[ring_.stage];
      tile.rows = uniform(tile.rows);  // and so are branches
      if (tile.rows == 0) break;
      work(tile);
    }
    take_staging();
    hand_over({.row = MGroupedTarget::kEnd, .column = 0});
  }

 private:
  __device__ __forceinline__ void work(const MGroupedTile& tile) {
    const bool stamps = warp_ == 0 && lane_ == 0 && tile.number < parameters_.stamps.capacity;
    const std::uint64_t begin_ns = stamps ? device_time_ns() : 0;
    // What is outside of the group is not multiplied, 64 rows at a time.
    const int rows = tile.rows - warp_ / 4 * 64;
    if (Memory::kHalves == 2 && rows > MGrouped::kHalfRows) {
      multiply<Memory::kHalves>(tile);
    } else if (rows > 0) {
      multiply<1>(tile);
    } else {
      multiply<0>(tile);
    }
    if (stamps) {
      parameters_.stamps.stamps[tile.number] = {begin_ns, device_time_ns(), multiprocessor(),
                                                tile.group};
    }
  }

  template <int kHalves>
  __device__ __forceinline__ void multiply(const MGroupedTile& tile) {
    float sums[kHalves == 0 ? 1 : kHalves][kFragment];
#pragma unroll
    for (auto& half : sums) {
#pragma unroll
      for (float& sum : half) sum = 0.0F;
    }
    float products[kFragment];
    const int row = warp_ * 16 + lane_ / 4;
    // The first stage is there. Every later one, the next tile's first one too, is waited for while
    // products are on their way.
    for (int block = 0; block < parameters_.blocks; ++block) {
      const int now = ring_.stage;
      const MGroupedStage<kTileRows>& stage = memory_.stages[now];
      const float w_scale = memory_.w_scales[now];
      ring_.advance();
#pragma unroll
      for (int half = 0; half < kHalves; ++half) {
        start_products<kX, Fp8Format::E4m3, 4>(
            products, shared_address(stage.x[half * MGrouped::kHalfRows + warp_ / 4 * 64]) >> 4,
            shared_address(stage.w) >> 4);
        const float* scales = memory_.x_scales[now] + half * MGrouped::kHalfRows + row;
        const float above = scales[0] * w_scale;
        const float below = scales[8] * w_scale;
        if (half + 1 == kHalves) memory_.full[ring_.stage].wait(ring_.parity);
        finish_products(products);
        if (half + 1 == kHalves) leave_stage(now);
#pragma unroll
        for (int i = 0; i < kFragment; i += 4) {
          sums[half][i] = __fmaf_rn(products[i], above, sums[half][i]);
          sums[half][i + 1] = __fmaf_rn(products[i + 1], above, sums[half][i + 1]);
          sums[half][i + 2] = __fmaf_rn(products[i + 2], below, sums[half][i + 2]);
          sums[half][i + 3] = __fmaf_rn(products[i + 3], below, sums[half][i + 3]);
        }
      }
      if constexpr (kHalves == 0) {
        memory_.full[ring_.stage].wait(ring_.parity);
        leave_stage(now);
      }
    }
#pragma unroll
    for (int half = 0; half < kHalves; ++half) store(tile, half, sums[half]);
  }

  /// This warp has read the stage.
  __device__ __forceinline__ void leave_stage(int stage) {
    __syncwarp();
    if (lane_ < MGrouped::kCluster) {
      arrive_in_cluster(empty_ + stage * static_cast<int>(sizeof(StageBarrier)));
    }
  }

  /// This warp's 16 rows of a half. The copy engine stores them, unless the group ends among them:
  /// it would overwrite the next group's.
  __device__ __forceinline__ void store(const MGroupedTile& tile, int half,
                                        const float (&sums)[kFragment]) {
    constexpr int kPairsOfHalf = kPieces<kType> / 2;
    const int row = half * MGrouped::kHalfRows + warp_ * 16;
    const int rows = tile.rows - row;
#pragma unroll
    for (int pair = 0; pair < kPairsOfHalf; ++pair) {
      const int column = tile.column + pair * 2 * kPieceColumns<kType>;
      take_staging();
      StagedPair& staged = memory_.staged[staged_.stage][warp_];
#pragma unroll
      for (int i = 0; i < 2; ++i) stage_rows<kType>(staged[i], pair * 2 + i, sums);
      if (rows >= 16) {
        publish_to_copies();
      } else {
        __syncwarp();
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          store_rows(staged[i], tile.first_row + row, rows, column + i * kPieceColumns<kType>);
        }
      }
      hand_over(
          {.row = rows >= 16 ? tile.first_row + row : MGroupedTarget::kNowhere, .column = column});
    }
  }

  /// Waits until the next pair may be written.
  __device__ __forceinline__ void take_staging() {
    memory_.staged_empty[warp_ / 4][staged_.stage].wait(staged_.parity ^ 1);
  }

  /// To the warp that stores: issuing the copies takes as long as they do.
  __device__ __forceinline__ void hand_over(const MGroupedTarget& target) {
    __syncwarp();
    if (lane_ == 0) {
      memory_.targets[staged_.stage][warp_] = target;
      memory_.staged_full[warp_ / 4][staged_.stage].arrive();
    }
    staged_.advance();
  }

  __device__ __forceinline__ void store_rows(const StagedRows& staged, int first_row, int rows,
                                             int column) {
    constexpr int kUnit = 16 / kElementBytes<kType>;
    const int unit = lane_ % 8;
    auto* output = static_cast<uint4*>(parameters_.output);
    const std::int64_t pitch = parameters_.columns / kUnit;
    for (int line = lane_ / 8; line < rows; line += 4) {
      if (column + unit * kUnit >= parameters_.columns) continue;
      output[(first_row + line) * pitch + column / kUnit + unit] =
          *reinterpret_cast<const uint4*>(&staged[line][(unit ^ (line % 8)) * 16]);
    }
  }

  const MGroupedMaps& maps_;
  const MGroupedParameters& parameters_;
  Memory& memory_;
  int warp_;
  int lane_;
  std::uint32_t empty_;
  RingPlace<Memory::kStages> ring_;
  RingPlace<Memory::kPairs> staged_;
};

/// The warp that has the copy engine store what a warpgroup stages.
template <InputType kType, int kTileRows>
__device__ __forceinline__ void store_staged(const MGroupedMaps& maps,
                                             MGroupedMemory<kTileRows>& memory, int warpgroup) {
  RingPlace<MGroupedMemory<kTileRows>::kPairs> place;
  for (;;) {
    memory.staged_full[warpgroup][place.stage].wait(place.parity);
    const MGroupedTarget* targets = &memory.targets[place.stage][warpgroup * 4];
    if (uniform(targets[0].row) == MGroupedTarget::kEnd) break;
    if (elected()) {
      for (int warp = 0; warp < 4; ++warp) {
        const MGroupedTarget target = targets[warp];
        if (target.row < 0) continue;
        const StagedPair& staged = memory.staged[place.stage][warpgroup * 4 + warp];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          store_box(maps.output, shared_address(staged[i]),
                    target.column + i * kPieceColumns<kType>, target.row, 0);
        }
      }
      commit_stores();
      wait_until_read<0>();
      memory.staged_empty[warpgroup][place.stage].arrive();
    }
    __syncwarp();
    place.advance();
  }
  if (elected()) wait_for_stores();
}

template <Fp8Format kX, InputType kType, int kTileRows>
__global__ void __launch_bounds__(MGrouped::kThreads, 1)
    m_grouped_block_kernel(const __grid_constant__ MGroupedMaps maps,
                           const __grid_constant__ MGroupedParameters parameters) {
  wait_for_predecessor();
  extern __shared__ __align__(1024) std::uint8_t shared[];
  using Memory = MGroupedMemory<kTileRows>;
  Memory& memory = *reinterpret_cast<Memory*>(shared);
  auto* table = reinterpret_cast<std::int32_t*>(shared + sizeof(Memory));
  const MGroupedTables tables{.first_tile = table, .first_scale = table + parameters.groups + 1};
  fill_tables<kTileRows>(parameters, tables);
  if (threadIdx.x == 64) {
    for (int stage = 0; stage < Memory::kStages; ++stage) {
      memory.full[stage].init(1);
      memory.empty[stage].init(MGrouped::kMathWarps * MGrouped::kCluster);
    }
    for (int warpgroup = 0; warpgroup < MGrouped::kWarpgroups; ++warpgroup) {
      for (int pair = 0; pair < Memory::kPairs; ++pair) {
        memory.staged_full[warpgroup][pair].init(4);
        memory.staged_empty[warpgroup][pair].init(1);
      }
    }
    memory.tickets.init();
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  publish_to_copies();
  __syncthreads();
  meet_cluster();  // before a block writes to its neighbour

  const int warp = __shfl_sync(kFullWarp, static_cast<int>(threadIdx.x) / 32, 0);
  if (warp >= MGrouped::kMathWarps) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(MGrouped::kCopyRegisters));
    const int role = warp - MGrouped::kMathWarps;
    if (role == 0) {
      MGroupedLoader<kTileRows>(maps, parameters, memory, tables).work();
    } else if (role <= MGrouped::kWarpgroups) {
      store_staged<kType, kTileRows>(maps, memory, role - 1);
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(MGrouped::kMathRegisters));
    MGroupedWarp<kX, kType, kTileRows>(maps, parameters, memory, warp).work();
  }
  let_successor_start();
  meet_cluster();  // a block may not end while its neighbour still arrives at its barriers
}

}  // namespace kernels::products

// The weight-gradient kernel of FP8 block scaling. kernels/README.md has a picture.
//
// A cluster of two blocks computes tiles that lie side by side, turn by turn (wgrad_order.h). In
// each block one thread loads 128 columns of the lines (rows of the operands) per stage, and three
// warpgroups multiply: each has 64 rows of the tile, whose products of one stage are scaled and
// added in registers while the other two use the tensor cores. A stage is the block of 128 rows
// that has scales; the last one of a group may have fewer columns, in steps of 32. A warp for each
// warpgroup has the copy engine store what it staged (kHandsOver).
#pragma once

#include "kernels/common/device_time.cuh"
#include "kernels/common/group_tables.cuh"
#include "kernels/common/input_vectors.cuh"
#include "kernels/common/launch.cuh"
#include "kernels/product/stage_ring.cuh"
#include "kernels/product/staged_rows.cuh"
#include "kernels/product/tensor_copy.cuh"
#include "kernels/product/tensor_core.cuh"
#include "kernels/product/warp_lanes.cuh"
#include "kernels/product/wgrad_block.h"
#include "kernels/product/wgrad_order.h"

namespace kernels::products {

inline constexpr int kStages = 4;  // that fit beside the staged output
inline constexpr int kWarpgroups = static_cast<int>(kWgradTileRows) / 64;
inline constexpr int kMathWarps = 4 * kWarpgroups;
inline constexpr int kWgradThreads = 32 * kMathWarps + 128;
inline constexpr int kStep = 32;  // columns of one instruction
// Registers of a thread: the copying warps give theirs to those that multiply.
inline constexpr int kCopyRegisters = 32;
inline constexpr int kMathRegisters = 160;

/// What a stage holds.
struct WgradStage {
  std::uint8_t y[kWgradTileRows][kBlock];  // swizzled lines
  std::uint8_t x[kWgradTileColumns][kBlock];
};
struct WgradStageScales {
  float y[kWgradTileRows];
  float x[kWgradTileColumns];
};
/// Pieces of a warp's rows on their way out: all that it has of a tile in 16 bits, half in FP32.
inline constexpr int kStagedPieces = 2;
/// Whoever has the copy engine store waits until it takes the next instruction, so in 16 bits a
/// warp for each warpgroup does that while the next tile is computed. In FP32 that is slower: a
/// warp waits for a place twice in each tile, and so for the copies of its three neighbours too.
template <InputType kType>
inline constexpr bool kHandsOver = kType != InputType::Fp32;

/// Where a group's data begins. `rank` 0 is the group with the most rows.
struct RankedGroup {
  int rows;
  int first_column;
  std::uint32_t group_and_block;  // 10 bits, 22 bits: the group, and the blocks before it
  __device__ int group() const { return static_cast<int>(group_and_block >> 22); }
  __device__ int first_block() const { return static_cast<int>(group_and_block & 0x3FFFFFU); }
};
inline constexpr std::int64_t kMostWgradBlocks = std::int64_t{1} << 22;

struct WgradMemory {
  WgradStage stages[kStages];
  StagedRows staged[kStagedPieces][kMathWarps];
  WgradStageScales scales[kStages];
  StageBarrier full[kStages];
  StageBarrier empty[kStages];
  // A warpgroup's output, where it is handed over: staged, and read by the copy engine.
  StageBarrier staged_full[kWarpgroups][kStagedPieces];
  StageBarrier staged_empty[kWarpgroups][kStagedPieces];
  // RankedGroup [num_groups] follows.
};
inline std::size_t wgrad_shared_bytes(int groups) {
  return sizeof(WgradMemory) + static_cast<std::size_t>(groups) * sizeof(RankedGroup);
}

/// The tensor maps of a launch. Boxes are what one instruction copies.
struct WgradMaps {
  CUtensorMap y;         // [n, capacity] codes
  CUtensorMap x;         // [k, capacity] codes
  CUtensorMap y_scales;  // [blocks, n]
  CUtensorMap x_scales;  // [blocks, k]
  CUtensorMap gradient;  // [groups, n, k]
};

struct WgradParameters {
  const std::int64_t* row_offsets;
  const std::int64_t* first_columns;
  int groups;
  WgradOrder order;
  int n;
  int k;
  void* gradient;
  StampBuffer stamps;
};

/// All threads call; others see the table after a barrier. `rows`: [groups] of scratch.
__device__ __forceinline__ void rank_groups(const WgradParameters& parameters, int* rows,
                                            std::int32_t* blocks, RankedGroup* ranked) {
  const int groups = parameters.groups;
  const std::int64_t* offsets = parameters.row_offsets;
  for (int g = static_cast<int>(threadIdx.x); g < groups; g += kWgradThreads) {
    rows[g] = static_cast<int>(offsets[g + 1] - offsets[g]);
  }
  if (threadIdx.x < 32) {
    warp_sum_table<1>(blocks, offsets, groups, [](int count) {
      return (count + static_cast<int>(kBlock) - 1) / static_cast<int>(kBlock);
    });
  }
  __syncthreads();
  for (int g = static_cast<int>(threadIdx.x); g < groups; g += kWgradThreads) {
    const int mine = rows[g];
    int rank = 0;
    for (int other = 0; other < groups; ++other) {
      rank += rows[other] > mine || (rows[other] == mine && other < g) ? 1 : 0;
    }
    ranked[rank] = {.rows = mine,
                    .first_column = static_cast<int>(parameters.first_columns[g]),
                    .group_and_block = static_cast<std::uint32_t>(g) << 22 |
                                       static_cast<std::uint32_t>(blocks[g])};
  }
}

/// A tile: its place in D, and its group.
struct WgradTile {
  int n;
  int k;
  std::int64_t number;  // for its stamp
  RankedGroup of;
};

/// Calls visit(tile) for every tile of this thread's block, in order.
template <class Visit>
__device__ __forceinline__ void for_each_wgrad_tile(const WgradParameters& parameters,
                                                    const RankedGroup* ranked, Visit visit) {
  constexpr int kCluster = static_cast<int>(kWgradCluster);
  const int in_cluster = static_cast<int>(blockIdx.x) % kCluster;
  const int cluster = static_cast<int>(blockIdx.x) / kCluster;
  const int clusters = static_cast<int>(gridDim.x) / kCluster;
  const std::int64_t units = parameters.order.units();
  for (int turn = 0; std::int64_t{turn} * clusters < units; ++turn) {
    const std::int64_t unit = WgradOrder::unit(turn, cluster, clusters);
    if (unit >= units) continue;
    const WgradOrder::Place place = parameters.order.place(unit);
    const RankedGroup of = ranked[place.rank];
    visit(
        WgradTile{.n = place.tile_row * static_cast<int>(kWgradTileRows),
                  .k = (place.first_tile_column + in_cluster) * static_cast<int>(kWgradTileColumns),
                  .number = unit * kCluster + in_cluster,
                  .of = {.rows = uniform(of.rows),  // and so are branches
                         .first_column = uniform(of.first_column),
                         .group_and_block = uniform(of.group_and_block)}});
  }
}

/// The warp that loads; one lane issues the copies.
__device__ __forceinline__ void load_wgrad_tiles(const WgradMaps& maps,
                                                 const WgradParameters& parameters,
                                                 WgradMemory& memory, const RankedGroup* ranked) {
  constexpr int kCluster = static_cast<int>(kWgradCluster);
  constexpr int kShare = static_cast<int>(kWgradTileRows) / kCluster;  // lines of y per block
  const int in_cluster = static_cast<int>(blockIdx.x) % kCluster;
  RingPlace<kStages> ring;
  for_each_wgrad_tile(parameters, ranked, [&](const WgradTile& tile) {
    for (int done = 0; done < tile.of.rows; done += static_cast<int>(kBlock), ring.advance()) {
      WgradStage& stage = memory.stages[ring.stage];
      WgradStageScales& scales = memory.scales[ring.stage];
      StageBarrier& full = memory.full[ring.stage];
      memory.empty[ring.stage].wait(ring.parity ^ 1);
      if (!elected()) continue;
      full.arrive_and_expect(sizeof(WgradStage) + sizeof(WgradStageScales));
      const int column = tile.of.first_column + done;
      const int block = tile.of.first_block() + done / static_cast<int>(kBlock);
      load_box_for_all<kCluster>(shared_address(stage.y[in_cluster * kShare]), maps.y, full, column,
                                 tile.n + in_cluster * kShare);
      load_box(shared_address(stage.x), maps.x, full, column, tile.k);
      load_box(shared_address(scales.y), maps.y_scales, full, tile.n, block);
      load_box(shared_address(scales.x), maps.x_scales, full, tile.k, block);
    }
  });
}

/// Where this thread's elements of a warpgroup's 64 x 128 lie: element 4i and 4i + 1 in columns
/// 8i + column and the next one of `row`, 4i + 2 and 4i + 3 the same in row + 8.
struct FragmentPlace {
  int row;  // in the tile
  int column;
};

/// Adds what D holds to the sums of 16-bit gradients.
template <InputType kType>
__device__ __forceinline__ void add_gradient(const WgradParameters& parameters,
                                             const WgradTile& tile, const FragmentPlace& place,
                                             float (&sums)[kFragment]) {
  const auto* gradient = static_cast<const std::uint32_t*>(parameters.gradient);
#pragma unroll
  for (int i = 0; i < kFragment / 2; ++i) {
    const int row = tile.n + place.row + i % 2 * 8;
    const int column = tile.k + place.column + i / 2 * 8;
    if (row >= parameters.n || column >= parameters.k) continue;
    const std::int64_t element =
        (std::int64_t{tile.of.group()} * parameters.n + row) * parameters.k + column;
    const float2 before = word_values<kType>(gradient[element / 2]);
    sums[2 * i] += before.x;
    sums[2 * i + 1] += before.y;
  }
}

/// Whether a tile is stored: gradients that are added to stay where a group has no rows.
template <bool kAccumulate>
__device__ __forceinline__ bool is_stored(const WgradTile& tile) {
  return !kAccumulate || tile.of.rows > 0;
}

/// The warp that has the copy engine store what a warpgroup stages. It releases a piece's place
/// when the next piece is on its way, the last one's at once.
template <InputType kType, bool kAccumulate>
__device__ __forceinline__ void store_wgrad_tiles(const WgradMaps& maps,
                                                  const WgradParameters& parameters,
                                                  WgradMemory& memory, const RankedGroup* ranked,
                                                  int warpgroup) {
  static_assert(kPieces<kType> == kStagedPieces);
  std::uint32_t parity = 0;
  for_each_wgrad_tile(parameters, ranked, [&](const WgradTile& tile) {
    if (!is_stored<kAccumulate>(tile)) return;
    for (int piece = 0; piece < kStagedPieces; ++piece) {
      memory.staged_full[warpgroup][piece].wait(parity);
      if (elected()) {
        const int column = tile.k + piece * kPieceColumns<kType>;
        for (int warp = warpgroup * 4; warp < warpgroup * 4 + 4; ++warp) {
          const int row = tile.n + warp * 16;
          if (row >= parameters.n) break;
          store_box(maps.gradient, shared_address(memory.staged[piece][warp]), column, row,
                    tile.of.group());
        }
        commit_stores();
        if (piece > 0) {
          wait_until_read<1>();
          memory.staged_empty[warpgroup][piece - 1].arrive();
        }
        if (piece + 1 == kStagedPieces) {
          wait_until_read<0>();
          memory.staged_empty[warpgroup][piece].arrive();
        }
      }
      __syncwarp();
    }
    parity ^= 1;
  });
  if (elected()) wait_for_stores();
}

/// Stores the sums of a warp's 16 rows through shared memory, by this warp: 128 bytes of each row
/// at a time.
template <InputType kType, bool kAdds>
__device__ __forceinline__ void store_sums(const WgradMaps& maps, const WgradParameters& parameters,
                                           WgradMemory& memory, const WgradTile& tile, int warp,
                                           const float (&sums)[kFragment]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int first_row = tile.n + warp * 16;
#pragma unroll
  for (int piece = 0; piece < kPieces<kType>; ++piece) {
    StagedRows& rows = memory.staged[piece % kStagedPieces][warp];
    if (lane == 0) {
      if (piece == 0) wait_until_read<0>();
      if (piece >= kStagedPieces) wait_until_read<kStagedPieces - 1>();
    }
    __syncwarp();
    stage_rows<kType>(rows, piece, sums);
    publish_to_copies();
    __syncwarp();
    if (lane != 0 || first_row >= parameters.n) continue;
    const int column = tile.k + piece * kPieceColumns<kType>;
    if constexpr (kAdds) {
      add_box(maps.gradient, shared_address(rows), column, first_row, tile.of.group());
    } else {
      store_box(maps.gradient, shared_address(rows), column, first_row, tile.of.group());
    }
    commit_stores();
  }
}

/// A warp of one of the three warpgroups.
template <Fp8Format kY, Fp8Format kX, InputType kType, bool kAccumulate>
class WgradWarp {
 public:
  __device__ __forceinline__ WgradWarp(const WgradMaps& maps, const WgradParameters& parameters,
                                       WgradMemory& memory, int warp)
      : maps_(maps),
        parameters_(parameters),
        memory_(memory),
        warp_(warp),
        lane_(static_cast<int>(threadIdx.x) % 32),
        place_{.row = warp * 16 + lane_ / 4, .column = lane_ % 4 * 2},
        // The barriers of this block for lane 0, those of its neighbour for lane 1.
        empty_(in_block(memory.empty[0].address(), lane_ % static_cast<int>(kWgradCluster))) {}

  __device__ __forceinline__ void work(const WgradTile& tile) {
    if (!is_stored<kAccumulate>(tile)) return;
    const bool stamps = warp_ == 0 && lane_ == 0 && tile.number < parameters_.stamps.capacity;
    const std::uint64_t begin_ns = stamps ? device_time_ns() : 0;
#pragma unroll
    for (float& sum : sums_) sum = 0.0F;
    for (int left = tile.of.rows / static_cast<int>(kBlock); left > 0; --left) {
      add_stage<static_cast<int>(kBlock) / kStep>();
    }
    const int columns = tile.of.rows % static_cast<int>(kBlock);
    // Code of its own for each number of steps: accumulators must not depend on a branch.
    if (columns > 3 * kStep) {
      add_stage<4>();
    } else if (columns > 2 * kStep) {
      add_stage<3>();
    } else if (columns > kStep) {
      add_stage<2>();
    } else if (columns > 0) {
      add_stage<1>();
    }
    if constexpr (kAccumulate && kType != InputType::Fp32) {
      add_gradient<kType>(parameters_, tile, place_, sums_);
    }
    if constexpr (kHandsOver<kType>) {
      hand_over();
    } else {
      store_sums<kType, kAccumulate>(maps_, parameters_, memory_, tile, warp_, sums_);
    }
    if (stamps) {
      parameters_.stamps.stamps[tile.number] = {begin_ns, device_time_ns(), multiprocessor(),
                                                tile.of.group()};
    }
  }

  __device__ __forceinline__ void finish() const {
    if (!kHandsOver<kType> && lane_ == 0) wait_for_stores();
  }

 private:
  /// The sums, to the warp that stores.
  __device__ __forceinline__ void hand_over() {
#pragma unroll
    for (int piece = 0; piece < kStagedPieces; ++piece) {
      memory_.staged_empty[warp_ / 4][piece].wait(staged_parity_);
      stage_rows<kType>(memory_.staged[piece][warp_], piece, sums_);
      publish_to_copies();
      __syncwarp();
      if (lane_ == 0) memory_.staged_full[warp_ / 4][piece].arrive();
    }
    staged_parity_ ^= 1;
  }

  /// The products of a stage, scaled.
  template <int kSteps>
  __device__ __forceinline__ void add_stage() {
    const WgradStage& stage = memory_.stages[ring_.stage];
    memory_.full[ring_.stage].wait(ring_.parity);
    start_products<kY, kX, kSteps>(products_, shared_address(stage.y[warp_ / 4 * 64]) >> 4,
                                   shared_address(stage.x) >> 4);
    finish_products(products_);
    const WgradStageScales& scales = memory_.scales[ring_.stage];
    const float above = scales.y[place_.row];
    const float below = scales.y[place_.row + 8];
#pragma unroll
    for (int i = 0; i < kFragment; i += 4) {
      const float2 x = *reinterpret_cast<const float2*>(&scales.x[place_.column + 2 * i]);
      sums_[i] = __fmaf_rn(__fmul_rn(products_[i], x.x), above, sums_[i]);
      sums_[i + 1] = __fmaf_rn(__fmul_rn(products_[i + 1], x.y), above, sums_[i + 1]);
      sums_[i + 2] = __fmaf_rn(__fmul_rn(products_[i + 2], x.x), below, sums_[i + 2]);
      sums_[i + 3] = __fmaf_rn(__fmul_rn(products_[i + 3], x.y), below, sums_[i + 3]);
    }
    __syncwarp();  // all lanes have read the stage
    if (lane_ < static_cast<int>(kWgradCluster)) {
      arrive_in_cluster(empty_ + ring_.stage * static_cast<int>(sizeof(StageBarrier)));
    }
    ring_.advance();
  }

  const WgradMaps& maps_;
  const WgradParameters& parameters_;
  WgradMemory& memory_;
  int warp_;
  int lane_;
  FragmentPlace place_;
  std::uint32_t empty_;
  RingPlace<kStages> ring_;
  std::uint32_t staged_parity_ = 1;  // of empty places
  float sums_[kFragment];
  float products_[kFragment];
};

template <Fp8Format kY, Fp8Format kX, InputType kType, bool kAccumulate>
__global__ void __launch_bounds__(kWgradThreads, 1)
    wgrad_block_kernel(const __grid_constant__ WgradMaps maps,
                       const __grid_constant__ WgradParameters parameters) {
  wait_for_predecessor();
  extern __shared__ __align__(1024) std::uint8_t shared[];
  WgradMemory& memory = *reinterpret_cast<WgradMemory*>(shared);
  auto* ranked = reinterpret_cast<RankedGroup*>(shared + sizeof(WgradMemory));
  // Tables on the way to the ranked one, where nothing is loaded yet.
  auto* rows = reinterpret_cast<int*>(memory.stages);
  rank_groups(parameters, rows, rows + parameters.groups, ranked);
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      memory.full[stage].init(1);
      memory.empty[stage].init(kMathWarps * static_cast<int>(kWgradCluster));
    }
    for (int warpgroup = 0; warpgroup < kWarpgroups; ++warpgroup) {
      for (int piece = 0; piece < kStagedPieces; ++piece) {
        memory.staged_full[warpgroup][piece].init(4);
        memory.staged_empty[warpgroup][piece].init(1);
      }
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  publish_to_copies();
  __syncthreads();
  meet_cluster();  // before a block writes to its neighbour

  const int warp = __shfl_sync(kFullWarp, static_cast<int>(threadIdx.x) / 32, 0);
  if (warp >= kMathWarps) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCopyRegisters));
    const int role = warp - kMathWarps;
    if (role == 0) {
      load_wgrad_tiles(maps, parameters, memory, ranked);
    } else if constexpr (kHandsOver<kType>) {
      store_wgrad_tiles<kType, kAccumulate>(maps, parameters, memory, ranked, role - 1);
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kMathRegisters));
    WgradWarp<kY, kX, kType, kAccumulate> worker(maps, parameters, memory, warp);
    for_each_wgrad_tile(parameters, ranked, [&](const WgradTile& tile) { worker.work(tile); });
    worker.finish();
  }
  let_successor_start();
  meet_cluster();  // a block may not end while its neighbour still arrives at its barriers
}

}  // namespace kernels::products

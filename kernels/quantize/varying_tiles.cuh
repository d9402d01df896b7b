// The tile pipeline for groups that differ in columns: the producer deals tiles of whole groups,
// and the workers see each group through parameters of its own, in shared memory, that describe an
// operand of one group. A worker is the plain kernel's, so that a tile's codes are too. Kept apart
// from tile_kernel, whose parameters stay in constant memory.
#pragma once

#include "kernels/common/tile_pipeline.cuh"
#include "kernels/common/varying_sums.cuh"
#include "kernels/quantize/group_arguments.h"

namespace kernels::tiles {

template <class Worker>
struct VaryingParameters {
  typename Worker::Parameters whole;
  VaryingOperand operand;
};

/// Beside what every pipeline has; the table of first tiles follows.
template <class Worker>
struct VaryingMemory {
  PipelineMemory<Worker> pipeline;
  /// Two: a warp may still read those of the last group.
  typename Worker::Parameters of_group[2];
  int groups[kWorkerStages<Worker>];  // of the tiles
};

template <class Worker>
std::size_t varying_memory_bytes(int groups) {
  return sizeof(VaryingMemory<Worker>) +
         static_cast<std::size_t>(groups + 1) * sizeof(std::int32_t);
}

/// Tiles of a group of m rows in `across` blocks of columns: few rows share a tile (Tile).
__device__ __forceinline__ std::int32_t tiles_of(int m, int across) {
  const int left = m % kSide;
  const int wide = left == 0 ? 0 : 1 << (7 - left_row_bits(left));
  return m / kSide * across + (left == 0 ? 0 : (across + wide - 1) / wide);
}

/// Tile `local` of a group, which is all there is.
__device__ __forceinline__ Tile tile_of_group(const GroupPlace& place, unsigned local) {
  const auto m = static_cast<int>(place.rows);
  const auto across = static_cast<unsigned>(ceil_div(place.columns, kBlock));
  const unsigned full_strips = static_cast<unsigned>(m) / kSide;
  const unsigned strip = local / across;
  Tile tile;
  tile.index = static_cast<std::int32_t>(local);
  tile.out_m = tile.rowwise_m = m;
  if (strip < full_strips) {
    tile.strip_in_group = static_cast<int>(strip);
    tile.bx = static_cast<int>(local - strip * across);
    tile.out_rows = kSide;
  } else {
    tile.strip_in_group = static_cast<int>(full_strips);
    tile.out_rows = m % kSide;
    tile.row_bits = left_row_bits(tile.out_rows);
    tile.bx = static_cast<int>(local - full_strips * across) << (7 - tile.row_bits);
  }
  tile.strip = tile.strip_in_group;
  tile.in_first = tile.rowwise_first = std::int64_t{tile.strip_in_group} * kSide;
  tile.in_rows = tile.rowwise_rows = tile.out_rows;
  return tile;
}

template <class Worker>
__global__ __launch_bounds__(
    kBlockThreads,
    (kResident<Worker::kType,
               Worker::kTileInput>)) void varying_tile_kernel(const __grid_constant__
                                                                  VaryingParameters<Worker>
                                                                      parameters) {
  wait_for_predecessor();
  constexpr InputType kType = Worker::kType;
  constexpr int kStages = kWorkerStages<Worker>;
  extern __shared__ __align__(16) std::uint8_t dynamic_memory[];
  auto& varying = *reinterpret_cast<VaryingMemory<Worker>*>(dynamic_memory);
  auto& memory = varying.pipeline;
  auto* const first_tile =
      reinterpret_cast<std::int32_t*>(dynamic_memory + sizeof(VaryingMemory<Worker>));
  const GroupedInput& input = parameters.whole.args.input;
  const VaryingOperand& operand = parameters.operand;
  if (is_noop(parameters.whole.operand().controls.noop)) return;

  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread & 31;
  const auto place_of = [&](int group) {
    return place_of_group(input.row_offsets, operand.groups, operand.places, group);
  };
  if (thread == 0) {
#pragma unroll
    for (int stage = 0; stage < kStages; ++stage) {
      memory.full[stage].init(32 + 1);
      memory.empty[stage].init(kThreads);
    }
  }
  if (thread < 32) {
    warp_sum_groups(first_tile, input.num_groups, [&](int group) {
      const auto m = static_cast<int>(input.row_offsets[group + 1] - input.row_offsets[group]);
      return tiles_of(m, static_cast<int>(ceil_div(operand.groups.columns[group], kBlock)));
    });
  }
  __syncthreads();
  const std::int32_t tiles = first_tile[input.num_groups];

  if (thread >= kThreads) {
    int group = -1;
    GroupPlace place;
    std::int64_t index = blockIdx.x;
    for (std::uint32_t turn = 0;; ++turn, index += gridDim.x) {
      const std::uint32_t stage = turn % kStages;
      Tile tile;
      if (index < tiles) {
        if (group < 0 || index >= first_tile[group + 1]) {
          group = warp_find_group(first_tile, input.num_groups, index);
          place = place_of(group);
        }
        tile = tile_of_group(place, static_cast<unsigned>(index - first_tile[group]));
      }
      if (turn >= kStages) memory.empty[stage].wait((turn / kStages - 1) & 1);
      if (lane == 0) {
        memory.tiles[stage] = tile;
        varying.groups[stage] = group;
      }
      if (tile.index >= 0) copy_tile<kType>(group_input(input, place), tile, memory.raw[stage]);
      memory.full[stage].arrive_after_copies();
      if (lane == 0) memory.full[stage].arrive();
      if (tile.index < 0) return;
    }
  }

  // Scales of all groups, those without tiles among them, are the whole operand's.
  Worker(parameters.whole, memory.shared, true);
  std::uint32_t turn = 0;
  int parity = 0;
  const auto next_stage = [&] {
    const std::uint32_t stage = turn % kStages;
    memory.full[stage].wait((turn / kStages) & 1);
    return stage;
  };
  for (std::uint32_t stage = next_stage(); memory.tiles[stage].index >= 0; parity ^= 1) {
    const int group = varying.groups[stage];
    if (thread == 0) {
      varying.of_group[parity] = group_parameters(parameters.whole, place_of(group));
    }
    sync_workers();
    Worker worker(varying.of_group[parity], memory.shared, true);
    do {
      worker.work(memory.tiles[stage], memory.raw[stage], turn);
      memory.empty[stage].arrive();
      ++turn;
      stage = next_stage();
    } while (memory.tiles[stage].index >= 0 && varying.groups[stage] == group);
    worker.finish();
  }
}

template <class Worker>
cudaError_t launch_varying_tiles(const typename Worker::Parameters& whole,
                                 const VaryingOperand& operand, LaunchStream stream) {
  const GroupedInput& input = whole.args.input;
  // A tile has at least one row of 16 columns; tiles and rows are counted in 32 bits.
  const std::int64_t most_tiles = operand.groups.capacity_elements / 16;
  if (most_tiles > INT32_MAX || input.capacity_rows > INT32_MAX) return cudaErrorInvalidValue;
  const auto kernel = varying_tile_kernel<Worker>;
  const std::size_t bytes = varying_memory_bytes<Worker>(input.num_groups);
  if (const cudaError_t refused = cudaFuncSetAttribute(
          kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
      refused != cudaSuccess) {
    return refused;
  }
  constexpr int kWaves = 4;  // as tile_kernel without tickets
  return launch_dependent(
      kernel,
      {.grid = resident_grid(kernel, most_tiles, 1, kWaves, bytes, kBlockThreads),
       .threads = kBlockThreads,
       .shared_bytes = bytes},
      stream, VaryingParameters<Worker>{whole, operand});
}

}  // namespace kernels::tiles

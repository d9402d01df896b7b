// The pipeline that quantizes a grouped operand tile by tile: a dedicated warp loads 128 x 128
// elements into shared memory while eight warps work on the previous tiles, which they may read
// from there any number of times. A Worker defines what is done to a tile; everything else (finding
// the tiles of groups with any number of rows, padding, tickets, stamps) is done here.
//
// A Worker is a class with
// - kType, kTileInput, kStamped: input type, what the instance is for, whether stamps are written
// - kBackwards: tiles in descending order (the last pass left the tail in L2)
// - Parameters: kernel parameters, with `args.input` and `TileOperand operand()`
// - Shared: its own shared memory
// - first_units(m), second_units(m): what the two coarse prefix sums count for a group of m rows
// - kSecondOfInput: whether the second counts the input's rows or the outputs'
// - Worker(parameters, shared): constructed by every consumer thread
// - work(tile, raw, turn): for every tile; no barrier other than sync_workers()
// - finish(): after the last tile
#pragma once

#include <cstdint>

#include "kernels/common/activated_tile.cuh"
#include "kernels/common/device_time.cuh"
#include "kernels/common/launch.cuh"
#include "kernels/common/routed_tile.cuh"
#include "kernels/common/stage_barrier.cuh"
#include "kernels/common/tile_deal.cuh"

namespace kernels::tiles {

/// Three stages and two blocks per SM keep enough loads in flight behind the work (two and three
/// were 7 % slower, tests/bench/gpu_quantize_bench). What an activation makes passes through
/// registers into one tile: three blocks per SM hide that, and further stages hold the descriptions
/// of the next tiles, so that a warp that is done with this one reads the next one's parts while
/// others still work. FP32 tiles are too big for more than one. (Copying the parts to where the
/// results go, for all of a tile or as soon as its last result is read, so that nobody waits for a
/// read inside a tile, gave values 0.74 to 1.04 of this rate and gradients 0.84 to 0.96. Asking L2
/// for the next tile's parts, in the producer warp, made values 8 % and gradients 20 % slower.)
template <InputType kType, TileInput kInput>
constexpr int kStagesFor = kInput != TileInput::Plain ? 2
                           : kType == InputType::Fp32 ? 1
                                                      : 3;
template <InputType kType, TileInput kInput>
constexpr int kResident = kInput == TileInput::Plain    ? 2
                          : kType != InputType::Fp32    ? 3
                          : kInput == TileInput::Swiglu ? 2
                                                        : 1;

template <class Worker>
inline constexpr int kWorkerStages = kStagesFor<Worker::kType, Worker::kTileInput>;
/// What an activation makes has one tile however many descriptions are ahead.
template <class Worker>
inline constexpr int kRawTiles = Worker::kTileInput == TileInput::Plain ? kWorkerStages<Worker> : 1;
/// Everything of fixed size; the tables follow it.
template <class Worker>
struct PipelineMemory {
  RawTile<Worker::kType> raw[kRawTiles<Worker>];
  typename Worker::Shared shared;
  Tile tiles[kWorkerStages<Worker>];
  Tile of_up[kWorkerStages<Worker>];  // pairs_gradients(): the second; its elements are last
  StageBarrier full[kWorkerStages<Worker>];
  StageBarrier empty[kWorkerStages<Worker>];
};

/// Behind the tables, aligned for a tile.
template <class Worker>
__host__ __device__ std::size_t tables_end(int groups) {
  return (sizeof(PipelineMemory<Worker>) + Tables::bytes(groups) + 15) / 16 * 16;
}

/// Eight warps work, the ninth finds tiles and loads them.
template <class Worker>
__global__
__launch_bounds__(kBlockThreads, (kResident<Worker::kType, Worker::kTileInput>)) void tile_kernel(
    const __grid_constant__ typename Worker::Parameters parameters) {
  wait_for_predecessor();
  constexpr InputType kType = Worker::kType;
  constexpr TileInput kInput = Worker::kTileInput;
  constexpr int kStages = kWorkerStages<Worker>;
  extern __shared__ __align__(16) std::uint8_t dynamic_memory[];
  using Memory = PipelineMemory<Worker>;
  auto& memory = *reinterpret_cast<Memory*>(dynamic_memory);
  const TileOperand operand = parameters.operand();
  // Not the copy: functions that are called read it in constant memory.
  const GroupedInput& input = parameters.args.input;
  const bool quantizes = !is_noop(operand.controls.noop);
  if (!quantizes && !operand.ignores_noop) return;

  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / 32;
  const int lane = thread & 31;
  if (thread == 0) {
#pragma unroll
    for (int stage = 0; stage < kStages; ++stage) {
      memory.full[stage].init(32 + 1);  // each lane's copies, and the description
      memory.empty[stage].init(kThreads);
    }
  }
  const Tables tables = make_tables<Worker>(
      operand, reinterpret_cast<std::int32_t*>(dynamic_memory + sizeof(Memory)));

  const bool pairs = takes_gradients(kInput) && pairs_gradients(input);
  [[maybe_unused]] auto& raw_of_up =
      *reinterpret_cast<RawTile<kType>*>(dynamic_memory + tables_end<Worker>(input.num_groups));
  if (warp == kWarps) {
    TileSchedule<Worker> deal(operand, tables);
    for (std::uint32_t turn = 0;; ++turn) {
      const std::uint32_t stage = turn % kStages;
      const Tile tile = deal.describe();
      deal.advance();
      if (turn >= kStages) memory.empty[stage].wait((turn / kStages - 1) & 1);
      if (lane == 0) {
        memory.tiles[stage] = tile;
        if (pairs) {
          Tile& of_up = memory.of_up[stage];
          of_up = tile;
          of_up.bx += static_cast<int>(input.activated_columns() / kBlock);
          of_up.end_step = static_cast<int>(input.columns / kStep);
        }
      }
      if constexpr (kInput == TileInput::Plain) {
        if (tile.index >= 0) {
          if constexpr (requires { parameters.row_tokens; }) {
            copy_routed_tile<kType>(input, parameters.row_tokens, tile, memory.raw[stage]);
          } else {
            copy_tile<kType>(input, tile, memory.raw[stage]);
          }
        }
      }
      memory.full[stage].arrive_after_copies();
      if (lane == 0) memory.full[stage].arrive();
      if (tile.index < 0) break;
    }
    deal.finish();
    return;
  }

  Worker worker(parameters, memory.shared, quantizes);
  std::uint32_t works = 0;
  for (std::uint32_t turn = 0;; ++turn) {
    const std::uint32_t stage = turn % kStages;
    memory.full[stage].wait((turn / kStages) & 1);
    std::uint64_t begin_ns = 0;
    if constexpr (Worker::kStamped) begin_ns = device_time_ns();
    const Tile& tile = memory.tiles[stage];
    auto& raw = memory.raw[stage % kRawTiles<Worker>];
    if (tile.index < 0) break;
    if constexpr (kInput == TileInput::Swiglu) {
      swiglu_tile<kType>(input, tile, raw);
      sync_workers();
    } else if constexpr (kInput == TileInput::SwigluGradient) {
      swiglu_gradient_tile<kType>(input, tile, raw, raw_of_up);
      sync_workers();
    } else if constexpr (kInput == TileInput::Activated) {
      activate_tile<kType>(input, tile, raw, raw_of_up);
      sync_workers();
    }
    worker.work(tile, raw, works++);
    if constexpr (takes_gradients(kInput)) {
      if (pairs) worker.work(memory.of_up[stage], raw_of_up, works++);
    }
    if constexpr (Worker::kStamped) {
      if (thread == 0 && tile.index < operand.controls.stamps.capacity) {
        operand.controls.stamps.stamps[tile.index] = {begin_ns, device_time_ns(), multiprocessor(),
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
  const std::int64_t tiles = strips * ceil_div(dealt_columns(input), kBlock);
  // Row offsets and tile numbers are 32 bits wide on the device.
  if (tiles > INT32_MAX || std::max(capacity, input.capacity_rows) > INT32_MAX) {
    return cudaErrorInvalidValue;
  }
  // tests/bench/gpu_quantize_bench: plain tiles are better balanced in several waves; those of an
  // activation cost more than that, and gain up to 1.04 from tables that are made once.
  const bool one_wave =
      operand.controls.tickets != nullptr || Worker::kTileInput != TileInput::Plain;
  const auto kernel = tile_kernel<Worker>;
  const std::size_t bytes = tables_end<Worker>(input.num_groups) +
                            (takes_gradients(Worker::kTileInput) && pairs_gradients(input)
                                 ? sizeof(RawTile<Worker::kType>)
                                 : 0);
  if (const cudaError_t refused = cudaFuncSetAttribute(
          kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
      refused != cudaSuccess) {
    return refused;
  }
  return launch_dependent(
      kernel,
      {.grid = resident_grid(kernel, tiles, 1, one_wave ? 1 : 4, bytes, kBlockThreads),
       .threads = kBlockThreads,
       .shared_bytes = bytes},
      stream, parameters);
}

/// Calls launch.template operator()<type, format, kInput, stamped>() for the launch's options.
/// Stamped instances exist for BF16 without activation; cudaErrorNotSupported otherwise.
template <class Launch>
cudaError_t dispatch_tiles(const TileOperand& operand, Fp8Format format, Launch launch) {
  const bool stamped = operand.controls.stamps.stamps != nullptr;
  const bool activated = !operand.input.activation.is_none();
  if (stamped && (activated || operand.input.type != InputType::Bf16)) return cudaErrorNotSupported;
  cudaError_t error = cudaSuccess;
  dispatch_cast(operand.input.type, format, [&](auto type, auto target) {
    if (operand.input.is_swiglu()) {
      error = launch.template operator()<type(), target(), TileInput::Swiglu, false>();
    } else if (activated) {
      if constexpr (type() != InputType::Fp32) {
        if (operand.input.activation.is_swiglu()) {  // its gradient
          error = launch.template operator()<type(), target(), TileInput::SwigluGradient, false>();
          return;
        }
      }
      error = launch.template operator()<type(), target(), TileInput::Activated, false>();
    } else if constexpr (type() == InputType::Bf16) {
      error = stamped ? launch.template operator()<type(), target(), TileInput::Plain, true>()
                      : launch.template operator()<type(), target(), TileInput::Plain, false>();
    } else {
      error = launch.template operator()<type(), target(), TileInput::Plain, false>();
    }
  });
  return error;
}

}  // namespace kernels::tiles

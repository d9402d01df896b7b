// 1x128 block scaling. A warp takes four rows of a few column blocks: eight lanes hold one row's
// block, sixteen elements each, so that amax and cast come from one read and every lane has its own
// scale. Four rows, because scales are laid out in columns padded to four: a warp's scales of a
// block are 16 consecutive bytes.
#include "kernels/common/activated_step.cuh"
#include "kernels/common/launch.cuh"
#include "kernels/quantize/block_launch.cuh"

namespace kernels {
namespace {

constexpr int kStripRows = 4;
constexpr int kLanesPerRow = 32 / kStripRows;
constexpr int kStepsPerBlock = static_cast<int>(kBlock) / kStep;
constexpr int kStepsPerLane = kStepsPerBlock / kLanesPerRow;
constexpr int kWaves = 4;  // tests/bench/gpu_quantize_bench

/// Column blocks of one task: the loads a warp has in flight before it needs the first of them (128
/// bytes per lane). Chosen with tests/bench/gpu_quantize_bench.
template <InputType kType, bool kActivated>
constexpr int kBlocksPerTask = (kType == InputType::Fp32 ? 2 : 4) / (kActivated ? 2 : 1);

template <InputType kType, Fp8Format kFormat, bool kActivated>
__global__ __launch_bounds__(kThreads) void quantize_block_1x128_kernel(
    const __grid_constant__ QuantizeBlockArgs args, const __grid_constant__ ScaleRule rule) {
  wait_for_predecessor();
  constexpr int kBlocks = kBlocksPerTask<kType, kActivated>;
  __shared__ StripTable table;
  const GroupedInput& input = args.input;
  build_strip_table<kThreads, kStripRows>(input.row_offsets, input.num_groups, table);

  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int row = lane / kLanesPerRow;
  const int slot = lane % kLanesPerRow;
  const std::int64_t blocks_per_row = ceil_div(input.columns, kBlock);
  const std::int64_t steps_per_row = input.columns / kStep;
  const std::int64_t tasks_per_strip = ceil_div(blocks_per_row, kBlocks);
  const std::int64_t tasks = table.first_strip[input.num_groups] * tasks_per_strip;
  const std::int64_t warps = std::int64_t{gridDim.x} * (kThreads / 32);
  std::int64_t task =
      std::int64_t{blockIdx.x} * (kThreads / 32) + static_cast<int>(threadIdx.x / 32);
  // A return at the top would cost registers.
  if (is_noop(args.controls.noop)) task = tasks;
  for (; task < tasks; task += warps) {
    const std::int64_t strip = task / tasks_per_strip;
    const std::int64_t first_block = (task - strip * tasks_per_strip) * kBlocks;
    const int group = warp_find_group(table.first_strip, input.num_groups, strip);
    const std::int64_t group_strips = table.first_strip[group + 1] - table.first_strip[group];
    const std::int64_t strip_in_group = strip - table.first_strip[group];
    const std::int64_t owned_row = input.row_offsets[group] + strip_in_group * kStripRows + row;
    const bool row_inside = owned_row < input.row_offsets[group + 1];
    const std::int64_t first_step = owned_row * steps_per_row;

    // Neighbouring lanes load neighbouring 16 bytes: a block's row is two 128-byte lines for BF16.
    RawStep<kType> raw[kBlocks][kStepsPerLane];
    [[maybe_unused]] RawStep<kType> up[kBlocks][kStepsPerLane];
    bool inside[kBlocks][kStepsPerLane];
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
      for (int part = 0; part < kStepsPerLane; ++part) {
        const std::int64_t in_row = (first_block + i) * kStepsPerBlock + part * kLanesPerRow + slot;
        inside[i][part] = row_inside && in_row < steps_per_row;
        const std::int64_t step = (kActivated ? 2 : 1) * first_step + in_row;
        raw[i][part] = inside[i][part] ? load_step<kType>(input.input, step) : zero_step<kType>();
        if constexpr (kActivated) {
          up[i][part] = inside[i][part] ? load_step<kType>(input.input, step + steps_per_row)
                                        : zero_step<kType>();
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
      const std::int64_t bx = first_block + i;
      if (bx >= blocks_per_row) break;
      if constexpr (kActivated) {
#pragma unroll
        for (int part = 0; part < kStepsPerLane; ++part) {
          raw[i][part] = swiglu_step<kType>(raw[i][part], up[i][part]);
        }
      }
      AmaxWord<kType> word = step_amax_word(raw[i][0]);
#pragma unroll
      for (int part = 1; part < kStepsPerLane; ++part) {
        word = max_of_words<kType>(word, step_amax_word(raw[i][part]));
      }
      float amax = word_amax<kType>(word);
#pragma unroll
      for (int distance = kLanesPerRow / 2; distance > 0; distance /= 2) {
        amax = fmaxf(amax, __shfl_xor_sync(kFullWarp, amax, distance));
      }
      const float scale = scale_from_amax(amax, rule);
#pragma unroll
      for (int part = 0; part < kStepsPerLane; ++part) {
        if (inside[i][part]) {
          store_codes<kType, kFormat>(
              raw[i][part], scale, args.rowwise.codes,
              first_step + bx * kStepsPerBlock + part * kLanesPerRow + slot);
        }
      }
      if (slot == 0 && row_inside) {
        store_block_scale(args.rowwise, amax, scale,
                          kStripRows * (table.first_strip[group] * blocks_per_row +
                                        bx * group_strips + strip_in_group) +
                              row);
      }
    }
  }
}

}  // namespace

cudaError_t quantize_block_lines(const QuantizeBlockArgs& args, LaunchStream stream) {
  const GroupedInput& input = args.input;
  if (args.block != kBlock) return cudaErrorNotSupported;
  // The register kernel is instantiated for no activation and for SwiGLU's value.
  const bool fits_registers = input.activation.is_none() || input.is_swiglu();
  if (needs_tiles(args) || !fits_registers) return quantize_block_tile(args, false, stream);
  if (const cudaError_t bad = check_operands(input, args.rowwise.codes); bad != cudaSuccess)
    return bad;
  if (input.num_groups == 0) return cudaSuccess;
  const std::int64_t strips = input.capacity_rows / kStripRows + input.num_groups;
  const ScaleRule rule = block_scale_rule(args);
  cudaError_t error = cudaSuccess;
  const auto launch = [&]<InputType kType, Fp8Format kFormat, bool kActivated>() {
    constexpr int kBlocks = kBlocksPerTask<kType, kActivated>;
    const std::int64_t tasks = strips * ceil_div(input.columns, kBlock * kBlocks);
    const auto kernel = quantize_block_1x128_kernel<kType, kFormat, kActivated>;
    const unsigned grid = resident_grid(kernel, tasks, kThreads / 32, kWaves);
    error = launch_dependent(kernel, {.grid = grid, .threads = kThreads}, stream, args, rule);
  };
  dispatch_cast(input.type, args.format, [&](auto type, auto format) {
    if (input.activation.is_none()) {
      launch.template operator()<type(), format(), false>();
    } else {
      launch.template operator()<type(), format(), true>();
    }
  });
  return error;
}

}  // namespace kernels

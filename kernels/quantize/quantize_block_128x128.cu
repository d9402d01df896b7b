// 128x128 block scaling. A thread block keeps a whole tile in registers between the two phases
// (amax, cast), so that global memory is read once; only the warps' maxima go through shared
// memory.
#include "kernels/common/input_vectors.cuh"
#include "kernels/common/launch.cuh"
#include "kernels/quantize/block_launch.cuh"

namespace kernels {
namespace {

constexpr int kWarps = kThreads / 32;
constexpr int kRowsPerPass = kThreads / (static_cast<int>(kBlock) / kStep);
constexpr int kWaves = 16;  // tests/bench/gpu_quantize_bench
constexpr int kPasses = static_cast<int>(kBlock) / kRowsPerPass;

template <InputType kType, Fp8Format kFormat>
__global__ __launch_bounds__(kThreads) void quantize_block_128x128_kernel(
    const __grid_constant__ QuantizeBlockArgs args, const __grid_constant__ ScaleRule rule) {
  wait_for_predecessor();
  __shared__ StripTable table;
  __shared__ float warp_amax[2][kWarps];
  const GroupedInput& input = args.input;
  if (is_noop(args.controls.noop)) return;
  build_strip_table<kThreads, static_cast<int>(kBlock)>(input.row_offsets, input.num_groups, table);

  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread & 31;
  const int row_in_pass = thread / (static_cast<int>(kBlock) / kStep);
  const std::int64_t blocks_per_row = ceil_div(input.columns, kBlock);
  const std::int64_t scales_per_row = round_up(blocks_per_row, 4);
  const std::int64_t steps_per_row = input.columns / kStep;
  const std::int64_t tiles = table.first_strip[input.num_groups] * blocks_per_row;
  int parity = 0;
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x, parity ^= 1) {
    const std::int64_t strip = tile / blocks_per_row;
    const std::int64_t bx = tile % blocks_per_row;
    const int group = warp_find_group(table.first_strip, input.num_groups, strip);
    const std::int64_t first_row =
        input.row_offsets[group] + (strip - table.first_strip[group]) * kBlock;
    const std::int64_t rows = min(kBlock, input.row_offsets[group + 1] - first_row);
    const std::int64_t step_in_row =
        bx * (kBlock / kStep) + thread % (static_cast<int>(kBlock) / kStep);
    const std::int64_t first_step = (first_row + row_in_pass) * steps_per_row + step_in_row;

    RawStep<kType> raw[kPasses];
    float amax = 0.0F;
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      const bool inside = pass * kRowsPerPass + row_in_pass < rows && step_in_row < steps_per_row;
      raw[pass] =
          inside ? load_step<kType>(input.input, first_step + pass * kRowsPerPass * steps_per_row)
                 : zero_step<kType>();
    }
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) amax = step_amax(raw[pass], amax);
    const unsigned largest = __reduce_max_sync(kFullWarp, __float_as_uint(amax));
    // Two sets of maxima: a warp may work on the next tile while another still reads this one's,
    // but the barrier there prevents it from being two tiles ahead.
    if (lane == 0) warp_amax[parity][thread / 32] = __uint_as_float(largest);
    __syncthreads();
    amax = 0.0F;
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) amax = fmaxf(amax, warp_amax[parity][warp]);
    const float scale = scale_from_amax(amax, rule);
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      if (pass * kRowsPerPass + row_in_pass < rows && step_in_row < steps_per_row) {
        store_codes<kType, kFormat>(raw[pass], scale, args.rowwise.codes,
                                    first_step + pass * kRowsPerPass * steps_per_row);
      }
    }
    if (thread == 0) store_block_scale(args.rowwise, amax, scale, strip * scales_per_row + bx);
  }
}

}  // namespace

cudaError_t quantize_block_squares(const QuantizeBlockArgs& args, LaunchStream stream) {
  const GroupedInput& input = args.input;
  // Groups shorter than a block leave most registers unused; the tile kernel packs them.
  const bool short_groups = input.capacity_rows < kBlock * input.num_groups;
  if (args.block != kBlock) return cudaErrorNotSupported;
  if (needs_tiles(args) || short_groups || !input.activation.is_none()) {
    return quantize_block_tile(args, true, stream);
  }
  if (const cudaError_t bad = check_operands(input, args.rowwise.codes); bad != cudaSuccess)
    return bad;
  if (input.num_groups == 0) return cudaSuccess;
  const std::int64_t strips = input.capacity_rows / kBlock + input.num_groups;
  const std::int64_t tiles = strips * ceil_div(input.columns, kBlock);
  const ScaleRule rule = block_scale_rule(args);
  cudaError_t error = cudaSuccess;
  dispatch_cast(input.type, args.format, [&](auto type, auto format) {
    const auto kernel = quantize_block_128x128_kernel<type(), format()>;
    error = launch_dependent(kernel,
                             {.grid = resident_grid(kernel, tiles, 1, kWaves), .threads = kThreads},
                             stream, args, rule);
  });
  return error;
}

}  // namespace kernels

// 1x128 block scaling. A warp takes four rows of one column block: sixteen lanes hold a block,
// eight elements each, so the amax and the cast come from one read. Four rows, because scales are
// laid out in columns padded to four: a warp's scales are 16 consecutive bytes.
#include "kernels/common/input_vectors.cuh"
#include "kernels/common/launch.cuh"
#include "kernels/quantize/block_scale.cuh"

namespace kernels {
namespace {

constexpr int kStripRows = 4;
constexpr int kPasses = 2;  // a warp covers two rows at a time

template <InputType kType, Fp8Format kFormat>
__global__ __launch_bounds__(kThreads) void quantize_block_1x128_kernel(
    const __grid_constant__ QuantizeBlockArgs args, const __grid_constant__ ScaleRule rule) {
  __shared__ StripTable table;
  const GroupedInput& input = args.input;
  build_strip_table<kThreads, kStripRows>(input.row_offsets, input.num_groups, table);

  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int half = lane / 16;
  const std::int64_t blocks_per_row = ceil_div(input.columns, kBlock);
  const std::int64_t steps_per_row = input.columns / kStep;
  const std::int64_t tasks = table.first_strip[input.num_groups] * blocks_per_row;
  const std::int64_t warps = std::int64_t{gridDim.x} * (kThreads / 32);
  std::int64_t task =
      std::int64_t{blockIdx.x} * (kThreads / 32) + static_cast<int>(threadIdx.x / 32);
  for (; task < tasks; task += warps) {
    const std::int64_t strip = task / blocks_per_row;
    const std::int64_t bx = task % blocks_per_row;
    const int group = warp_find_group(table.first_strip, input.num_groups, strip);
    const std::int64_t group_strips = table.first_strip[group + 1] - table.first_strip[group];
    const std::int64_t strip_in_group = strip - table.first_strip[group];
    const std::int64_t first_row = input.row_offsets[group] + strip_in_group * kStripRows;
    const int rows =
        static_cast<int>(min(std::int64_t{kStripRows}, input.row_offsets[group + 1] - first_row));
    const std::int64_t step_in_row = bx * (kBlock / kStep) + lane % 16;

    RawStep<kType> raw[kPasses];
    bool inside[kPasses];
    std::int64_t step[kPasses];
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      const int row = pass * 2 + half;
      inside[pass] = row < rows && step_in_row < steps_per_row;
      step[pass] = (first_row + row) * steps_per_row + step_in_row;
      raw[pass] = inside[pass] ? load_step<kType>(input.input, step[pass]) : zero_step<kType>();
    }
    float amax[kPasses];
    float scale[kPasses];
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      amax[pass] = step_amax(raw[pass], 0.0F);
#pragma unroll
      for (int distance = 8; distance > 0; distance /= 2) {
        amax[pass] = fmaxf(amax[pass], __shfl_xor_sync(kFullWarp, amax[pass], distance));
      }
      scale[pass] = scale_from_amax(amax[pass], rule);
      if (inside[pass]) {
        store_codes<kType, kFormat>(raw[pass], scale[pass], args.output, step[pass]);
      }
    }
    // Row r of the strip is pass r / 2 of half r % 2; lane r fetches and stores its scale.
    const int owner = (lane & 1) * 16;
    const float even_amax = __shfl_sync(kFullWarp, amax[0], owner);
    const float odd_amax = __shfl_sync(kFullWarp, amax[1], owner);
    const float even_scale = __shfl_sync(kFullWarp, scale[0], owner);
    const float odd_scale = __shfl_sync(kFullWarp, scale[1], owner);
    if (lane < rows) {
      const std::int64_t index = kStripRows * (table.first_strip[group] * blocks_per_row +
                                               bx * group_strips + strip_in_group) +
                                 lane;
      store_block_scale(args, lane < 2 ? even_amax : odd_amax, lane < 2 ? even_scale : odd_scale,
                        index);
    }
  }
}

}  // namespace

cudaError_t quantize_block_1x128(const QuantizeBlockArgs& args, cudaStream_t stream) {
  const GroupedInput& input = args.input;
  if (const cudaError_t bad = check_operands(input, args.output); bad != cudaSuccess) return bad;
  if (input.num_groups == 0) return cudaSuccess;
  const std::int64_t strips = input.capacity_rows / kStripRows + input.num_groups;
  const unsigned grid = capacity_grid(strips * ceil_div(input.columns, kBlock), kThreads / 32);
  const ScaleRule rule = block_scale_rule(args);
  dispatch_cast(input.type, args.format, [&](auto type, auto format) {
    quantize_block_1x128_kernel<type(), format()><<<grid, kThreads, 0, stream>>>(args, rule);
  });
  return cudaGetLastError();
}

}  // namespace kernels

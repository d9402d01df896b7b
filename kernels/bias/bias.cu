// Bias gradient alone: partial sums of 128 rows, then their sum. The order of additions is fixed,
// so the bits do not depend on the launch.
#include "kernels/bias/bias.h"

#include "kernels/common/activated_step.cuh"
#include "kernels/common/group_search.cuh"
#include "kernels/common/input_vectors.cuh"
#include "kernels/common/launch.cuh"

namespace kernels {

// A warp takes whole rows: it finds the row's group once and walks its columns, 16 bytes per lane.
namespace {

constexpr int kWarpsPerBlock = kThreads / 32;

/// Plain loads: values that this kernel writes must not be read through the read-only cache.
template <InputType kType>
__device__ RawStep<kType> load_written_step(const void* source, std::int64_t step) {
  const uint4* vectors = static_cast<const uint4*>(source) + step * RawStep<kType>::kVectors;
  return step_of_vectors<kType>([&](int i) { return vectors[i]; });
}

template <InputType kType, InputType kBias>
__global__ void __launch_bounds__(kThreads) add_bias_kernel(AddBiasArgs args) {
  wait_for_predecessor();
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const std::int64_t warp =
      std::int64_t{blockIdx.x} * kWarpsPerBlock + static_cast<int>(threadIdx.x) / 32;
  const std::int64_t warps = std::int64_t{gridDim.x} * kWarpsPerBlock;
  const std::int64_t rows = args.row_offsets[args.num_groups];
  const std::int64_t steps = args.columns / kStep;
  for (std::int64_t row = warp; row < rows; row += warps) {
    const int group = warp_find_group(args.row_offsets, args.num_groups, row);
    for (std::int64_t step = lane; step < steps; step += 32) {
      const RawStep<kType> values = load_written_step<kType>(args.values, row * steps + step);
      const RawStep<kBias> bias = load_step<kBias>(args.bias, group * steps + step);
      RawStep<kType> sums;
#pragma unroll
      for (int pair = 0; pair < kStep / 2; ++pair) {
        const float2 a = step_pair<kType>(values, pair);
        const float2 b = step_pair<kBias>(bias, pair);
        set_pair(sums, pair, __fadd_rn(a.x, b.x), __fadd_rn(a.y, b.y));
      }
      store_step(sums, args.values, row * steps + step);
    }
  }
}

template <InputType kType, InputType kBias>
cudaError_t launch(const AddBiasArgs& args, LaunchStream stream) {
  const auto kernel = add_bias_kernel<kType, kBias>;
  const unsigned grid = resident_grid(kernel, args.capacity_rows, kWarpsPerBlock);
  return launch_dependent(kernel, {.grid = grid, .threads = kThreads}, stream, args);
}

}  // namespace

cudaError_t add_bias(const AddBiasArgs& args, LaunchStream stream) {
  if (args.columns % kStep != 0 || args.bias_type == InputType::Fp32) return cudaErrorInvalidValue;
  if (args.num_groups <= 0 || args.capacity_rows <= 0) return cudaSuccess;
  cudaError_t status = cudaErrorInvalidValue;
  dispatch_input(args.type, [&](auto type) {
    status = args.bias_type == InputType::Fp16
                 ? launch<decltype(type)::value, InputType::Fp16>(args, stream)
                 : launch<decltype(type)::value, InputType::Bf16>(args, stream);
  });
  return status;
}

namespace {

constexpr int kSegments = 8;
constexpr int kSegmentRows = static_cast<int>(kBiasStripRows) / kSegments;

/// One warp per segment of 16 rows, eight columns per lane; the eight warps of a block combine in
/// shared memory.
template <InputType kType, bool kActivated>
__global__ __launch_bounds__(kThreads) void bias_partials_kernel(
    const __grid_constant__ BiasPartialsArgs args) {
  let_successor_start();
  wait_for_predecessor();
  __shared__ StripTable table;
  __shared__ float sums[kSegments][32 * kStep + 4];
  const GroupedInput& input = args.input;
  build_strip_table<kThreads, static_cast<int>(kBiasStripRows)>(input.row_offsets, input.num_groups,
                                                                table);
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int segment = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t steps_per_row = input.columns / kStep;
  const std::int64_t tiles_per_strip = ceil_div(steps_per_row, 32);
  const std::int64_t tiles = table.first_strip[input.num_groups] * tiles_per_strip;
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const std::int64_t strip = tile / tiles_per_strip;
    const std::int64_t first_step = (tile - strip * tiles_per_strip) * 32;
    const int group = warp_find_group(table.first_strip, input.num_groups, strip);
    const std::int64_t row = input.row_offsets[group] +
                             (strip - table.first_strip[group]) * kBiasStripRows +
                             segment * kSegmentRows;
    const std::int64_t end = input.row_offsets[group + 1];
    const std::int64_t step = first_step + lane;
    float sum[kStep] = {};
    RawStep<kType> raw[kSegmentRows];
#pragma unroll
    for (int i = 0; i < kSegmentRows; ++i) {
      raw[i] = row + i < end && step < steps_per_row
                   ? load_activated_step<kType, kActivated>(input, row + i, step)
                   : zero_step<kType>();
    }
#pragma unroll
    for (int i = 0; i < kSegmentRows; ++i) {
#pragma unroll
      for (int pair = 0; pair < kStep / 2; ++pair) {
        const float2 values = step_pair(raw[i], pair);
        sum[2 * pair] = __fadd_rn(sum[2 * pair], values.x);
        sum[2 * pair + 1] = __fadd_rn(sum[2 * pair + 1], values.y);
      }
    }
#pragma unroll
    for (int i = 0; i < kStep; ++i) sums[segment][i * 32 + lane] = sum[i];
    __syncthreads();
    // Thread t owns element t / 32 of lane t % 32's step.
    const float* s = &sums[0][threadIdx.x];
    constexpr int kPitch = 32 * kStep + 4;
    const float total =
        __fadd_rn(__fadd_rn(__fadd_rn(s[0], s[kPitch]), __fadd_rn(s[2 * kPitch], s[3 * kPitch])),
                  __fadd_rn(__fadd_rn(s[4 * kPitch], s[5 * kPitch]),
                            __fadd_rn(s[6 * kPitch], s[7 * kPitch])));
    const std::int64_t column = (first_step + lane) * kStep + segment;
    if (step < steps_per_row) args.partials[strip * input.columns + column] = total;
    __syncthreads();
  }
}

template <InputType kType>
__device__ __forceinline__ float widened(const void* values, std::int64_t index) {
  const auto* typed = static_cast<const typename DeviceElement<kType>::Type*>(values);
  return static_cast<float>(typed[index]);
}

/// One thread per column of a group; the strips of a group are added from the top.
template <InputType kType>
__global__ __launch_bounds__(kThreads) void reduce_bias_gradient_kernel(
    const __grid_constant__ ReduceBiasGradientArgs args) {
  wait_for_predecessor();
  __shared__ int strips_before;
  const int group = static_cast<int>(blockIdx.y);
  if (threadIdx.x == 0) strips_before = 0;
  __syncthreads();
  int before = 0;
  for (int g = static_cast<int>(threadIdx.x); g < group; g += kThreads) {
    before +=
        static_cast<int>(ceil_div(args.row_offsets[g + 1] - args.row_offsets[g], kBiasStripRows));
  }
  if (before != 0) atomicAdd(&strips_before, before);
  __syncthreads();
  const std::int64_t column = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (column >= args.columns) return;
  const auto strips = static_cast<int>(
      ceil_div(args.row_offsets[group + 1] - args.row_offsets[group], kBiasStripRows));
  const float* partial = args.partials + strips_before * args.columns + column;
  float sum = 0.0F;
#pragma unroll 8
  for (int strip = 0; strip < strips; ++strip) {
    sum = __fadd_rn(sum, partial[strip * args.columns]);
  }
  const std::int64_t index = group * args.columns + column;
  if (args.accumulate) sum = __fadd_rn(widened<kType>(args.gradient, index), sum);
  store_element<kType>(sum, args.gradient, index);
}

}  // namespace

cudaError_t bias_partials(const BiasPartialsArgs& args, LaunchStream stream) {
  const GroupedInput& input = args.input;
  if (const cudaError_t bad = check_operands(input, nullptr); bad != cudaSuccess) return bad;
  if (input.num_groups == 0) return cudaSuccess;
  const std::int64_t strips = input.capacity_rows / kBiasStripRows + input.num_groups;
  const std::int64_t tiles = strips * ceil_div(input.columns, 32 * kStep);
  cudaError_t error = cudaSuccess;
  dispatch_input(input.type, [&](auto type) {
    const auto launch = [&](auto kernel) {
      error = launch_dependent(
          kernel, {.grid = resident_grid(kernel, tiles, 1, 4), .threads = kThreads}, stream, args);
    };
    launch(input.activation.is_none() ? bias_partials_kernel<type(), false>
                                      : bias_partials_kernel<type(), true>);
  });
  return error;
}

cudaError_t reduce_bias_gradient(const ReduceBiasGradientArgs& args, LaunchStream stream) {
  if (args.num_groups < 0 || args.num_groups > kMaxGroups) return cudaErrorInvalidValue;
  if (args.num_groups == 0) return cudaSuccess;
  const dim3 grid(static_cast<unsigned>(ceil_div(args.columns, kThreads)),
                  static_cast<unsigned>(args.num_groups));
  cudaError_t error = cudaSuccess;
  dispatch_input(args.output_type, [&](auto type) {
    error = launch_dependent(reduce_bias_gradient_kernel<type()>,
                             {.grid = grid, .threads = kThreads}, stream, args);
  });
  return error;
}

}  // namespace kernels

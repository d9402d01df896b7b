// Per-tensor current scaling: the scales in one small launch, then one pass over the elements.
// Graph-safe: no launch argument depends on token counts.
#include <limits>

#include "kernels/common/group_runs.cuh"
#include "kernels/common/launch.cuh"
#include "kernels/common/scale_rule.h"
#include "kernels/quantize/quantize_per_tensor.h"

namespace kernels {
namespace {

__global__ __launch_bounds__(kMaxGroups) void per_tensor_scale_kernel(
    const __grid_constant__ PerTensorScaleArgs args, const __grid_constant__ ScaleRule rule) {
  const int group = static_cast<int>(threadIdx.x);
  if (group >= args.num_groups) return;
  const float scale = scale_from_amax(args.amax[group], rule);
  args.scale[group] = scale;
  args.scale_inv[group] = __frcp_rn(scale);
}

template <InputType kType, Fp8Format kFormat>
__global__ __launch_bounds__(kThreads) void quantize_per_tensor_kernel(
    const __grid_constant__ QuantizePerTensorArgs args) {
  constexpr int kUnroll = 4;  // independent loads in flight
  const int lane = static_cast<int>(threadIdx.x) & 31;
  for_each_group_run(args.input, [&](int group, std::int64_t begin, std::int64_t end) {
    const float scale = args.scale[group];
    std::int64_t step = begin + lane;
    for (; step + (kUnroll - 1) * 32 < end; step += kUnroll * 32) {
      RawStep<kType> raw[kUnroll];
#pragma unroll
      for (int i = 0; i < kUnroll; ++i) raw[i] = load_step<kType>(args.input.input, step + i * 32);
#pragma unroll
      for (int i = 0; i < kUnroll; ++i) {
        store_codes<kType, kFormat>(raw[i], scale, args.rowwise, step + i * 32);
      }
    }
    for (; step < end; step += 32) {
      const RawStep<kType> raw = load_step<kType>(args.input.input, step);
      store_codes<kType, kFormat>(raw, scale, args.rowwise, step);
    }
  });
}

}  // namespace

cudaError_t per_tensor_scale(const PerTensorScaleArgs& args, cudaStream_t stream) {
  if (args.num_groups < 0 || args.num_groups > kMaxGroups) return cudaErrorInvalidValue;
  if (args.num_groups == 0) return cudaSuccess;
  const ScaleRule rule{.format_max = fp8_max(args.format),
                       .pow2 = args.options.pow2,
                       .amax_epsilon = args.options.amax_epsilon,
                       .inf_value = std::numeric_limits<float>::max()};
  const auto threads = static_cast<unsigned>(round_up(args.num_groups, 32));
  per_tensor_scale_kernel<<<1, threads, 0, stream>>>(args, rule);
  return cudaGetLastError();
}

cudaError_t quantize_per_tensor(const QuantizePerTensorArgs& args, cudaStream_t stream) {
  const GroupedInput& input = args.input;
  if (const cudaError_t bad = check_operands(input, args.rowwise); bad != cudaSuccess) return bad;
  if (input.num_groups == 0) return cudaSuccess;
  const std::int64_t steps = input.capacity_rows * input.columns / kStep;
  dispatch_cast(input.type, args.format, [&](auto type, auto format) {
    const auto kernel = quantize_per_tensor_kernel<type(), format()>;
    kernel<<<resident_grid(kernel, steps, kThreads), kThreads, 0, stream>>>(args);
  });
  return cudaGetLastError();
}

}  // namespace kernels

// Per-tensor scaling: the scales in one small launch, then one pass over the elements. Graph-safe:
// no launch argument depends on token counts. Rowwise codes of unpadded rows need no tiles: the
// active elements are distributed evenly over the warps.
#include "kernels/common/activated_step.cuh"
#include "kernels/common/group_search.cuh"
#include "kernels/common/launch.cuh"
#include "kernels/common/scale_rule.h"
#include "kernels/quantize/quantize_block_tile.cuh"
#include "kernels/quantize/quantize_per_tensor.h"

namespace kernels {
namespace {

__global__ __launch_bounds__(kMaxGroups) void per_tensor_scale_kernel(
    const __grid_constant__ PerTensorScaleArgs args, const __grid_constant__ ScaleRule rule) {
  let_successor_start();
  wait_for_predecessor();
  const int group = static_cast<int>(threadIdx.x);
  if (group >= args.num_groups || is_noop(args.noop)) return;
  const float scale = scale_from_amax(args.amax[group], rule);
  args.scale[group] = scale;
  args.scale_inv[group] = __frcp_rn(scale);
}

template <InputType kType, Fp8Format kFormat, bool kActivated, bool kAmax>
__global__ __launch_bounds__(kThreads) void quantize_per_tensor_kernel(
    const __grid_constant__ QuantizePerTensorArgs args) {
  wait_for_predecessor();
  constexpr int kUnroll = 4;  // independent loads in flight
  if (is_noop(args.controls.noop)) return;
  const GroupedInput& input = args.input;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  if (args.scale_inv != nullptr && blockIdx.x == 0) {
    for (int group = static_cast<int>(threadIdx.x); group < input.num_groups; group += kThreads) {
      args.scale_inv[group] = __frcp_rn(args.scale[group]);
    }
  }
  for_each_group_run(input, [&](int group, std::int64_t begin, std::int64_t end) {
    const float scale = args.scale[group];
    float amax = 0.0F;
    std::int64_t step = begin + lane;
    for (; step + (kUnroll - 1) * 32 < end; step += kUnroll * 32) {
      RawStep<kType> raw[kUnroll];
#pragma unroll
      for (int i = 0; i < kUnroll; ++i) {
        raw[i] = activated_step_at<kType, kActivated>(input, step + i * 32);
      }
#pragma unroll
      for (int i = 0; i < kUnroll; ++i) {
        if constexpr (kAmax) amax = step_amax(raw[i], amax);
        store_codes<kType, kFormat>(raw[i], scale, args.rowwise, step + i * 32);
      }
    }
    for (; step < end; step += 32) {
      const RawStep<kType> raw = activated_step_at<kType, kActivated>(input, step);
      if constexpr (kAmax) amax = step_amax(raw, amax);
      store_codes<kType, kFormat>(raw, scale, args.rowwise, step);
    }
    if constexpr (kAmax) {
      const unsigned largest = __reduce_max_sync(kFullWarp, __float_as_uint(amax));
      // Magnitudes order like their bits.
      if (lane == 0 && largest != 0) {
        atomicMax(reinterpret_cast<unsigned*>(args.amax + group), largest);
      }
    }
  });
}

/// Transposed codes, padded rows and bias partials need tiles in shared memory. Stamps need BF16
/// input without activation, else cudaErrorNotSupported.
cudaError_t quantize_per_tensor_tile(const QuantizePerTensorArgs& args, LaunchStream stream) {
  return tiles::launch_block_tiles<tiles::TileScaling::PerTensor>(
      tiles::per_tensor_parameters(args), stream);
}

}  // namespace

cudaError_t per_tensor_scale(const PerTensorScaleArgs& args, LaunchStream stream) {
  if (args.num_groups < 0 || args.num_groups > kMaxGroups) return cudaErrorInvalidValue;
  if (args.num_groups == 0) return cudaSuccess;
  const ScaleRule rule = scale_rule(args.format, args.options, kLargestFloat);
  const auto threads = static_cast<unsigned>(round_up(args.num_groups, 32));
  return launch_dependent(per_tensor_scale_kernel, {.threads = threads}, stream, args, rule);
}

cudaError_t quantize_per_tensor(const QuantizePerTensorArgs& args, LaunchStream stream) {
  const GroupedInput& input = args.input;
  for (const std::uint8_t* codes : {args.rowwise, args.columnwise}) {
    if (const cudaError_t bad = check_operands(input, codes); bad != cudaSuccess) return bad;
  }
  if (input.num_groups == 0) return cudaSuccess;
  if (args.columnwise != nullptr || args.output_rows.row_offsets != nullptr ||
      args.bias_partials != nullptr || args.controls.stamps.stamps != nullptr) {
    return quantize_per_tensor_tile(args, stream);
  }
  const std::int64_t steps = input.capacity_rows * input.columns / kStep;
  if (!input.activation.is_none() && steps > std::int64_t{UINT32_MAX}) return cudaErrorInvalidValue;
  cudaError_t error = cudaSuccess;
  dispatch_cast(input.type, args.format, [&](auto type, auto format) {
    const auto launch = [&](auto kernel) {
      error = launch_dependent(
          kernel, {.grid = resident_grid(kernel, steps, kThreads), .threads = kThreads}, stream,
          args);
    };
    const bool activated = !input.activation.is_none();
    if (args.amax != nullptr) {
      launch(activated ? quantize_per_tensor_kernel<type(), format(), true, true>
                       : quantize_per_tensor_kernel<type(), format(), false, true>);
    } else {
      launch(activated ? quantize_per_tensor_kernel<type(), format(), true, false>
                       : quantize_per_tensor_kernel<type(), format(), false, false>);
    }
  });
  return error;
}

}  // namespace kernels

// Effects of quantization on an operand, on the device: histograms in shared memory, FP64 sums in
// registers until the group ends. Graph-safe: the grid depends on the capacity, the groups on
// row_offsets at the time the kernel runs.
#include "kernels/dequantize/group_view.h"
#include "kernels/diagnostics/code_error.h"
#include "kernels/diagnostics/group_walk.cuh"
#include "kernels/diagnostics/magnitude_slots.cuh"
#include "kernels/diagnostics/statistics.h"

namespace kernels {

namespace {

// Evaluated here, since a host function may not be called inside a kernel.
template <Fp8Format kFormat>
constexpr float kSaturationLimit = saturation_limit(kFormat);

enum class Codes { None, E4m3, E5m2 };

__device__ void add_count(std::uint64_t& target, std::uint32_t count) {
  atomicAdd(reinterpret_cast<unsigned long long*>(&target), count);
}

__device__ std::int64_t multiple_of_4(std::int64_t a) { return (a + 3) / 4 * 4; }

/// Inverse scales of one group: at(row, column) with the row counted inside the group.
struct GroupScales {
  const float* first = nullptr;
  int row_shift = 63;  // row >> row_shift and column >> column_shift index the block
  int column_shift = 63;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;

  __device__ std::int64_t offset(std::int64_t row, std::int64_t column) const {
    return (row >> row_shift) * row_stride + (column >> column_shift) * column_stride;
  }
  __device__ float at(std::int64_t row, std::int64_t column) const {
    return first[offset(row, column)];
  }
};

/// The scales of one group; the block sums the scales before it. All
/// threads must call and all get the result.
__device__ GroupScales scales_of_group(const QuantizationStatisticsArgs& args, int group,
                                       std::int64_t group_rows) {
  if (args.layout == ScaleLayout::PerTensor) return {.first = args.scale_inv + group};
  __shared__ long long before;
  const std::int64_t* row_offsets = args.input.row_offsets;
  const std::int64_t blocks = blocks_of(args.input.columns, args.block);
  // Scales of lines are stored transposed: all rows of a column block are adjacent.
  const bool transposed = args.layout == ScaleLayout::BlockLine;
  const int shift = block_shift(args.block);
  long long sum = 0;
  for (int g = static_cast<int>(threadIdx.x); g < group; g += kWalkThreads) {
    const std::int64_t rows = row_offsets[g + 1] - row_offsets[g];
    sum += transposed ? blocks * multiple_of_4(rows)
                      : multiple_of_4(blocks) * blocks_of(rows, args.block);
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) before = sum;
  __syncthreads();
  return {.first = args.scale_inv + before,
          .row_shift = transposed ? 0 : shift,
          .column_shift = shift,
          .row_stride = transposed ? 1 : multiple_of_4(blocks),
          .column_stride = transposed ? multiple_of_4(group_rows) : 1};
}

template <InputType kType, Codes kCodes>
__global__ __launch_bounds__(kWalkThreads) void quantization_statistics_kernel(
    const __grid_constant__ QuantizationStatisticsArgs args) {
  constexpr bool kQuantized = kCodes != Codes::None;
  constexpr Fp8Format kFormat = kCodes == Codes::E5m2 ? Fp8Format::E5m2 : Fp8Format::E4m3;
  constexpr int kHistograms = kQuantized ? 2 : 1;
  __shared__ MagnitudeSlots slots[kHistograms];
  for (MagnitudeSlots& histogram : slots) clear_slots(histogram);
  __syncthreads();

  GroupScales scales;
  BlockLosses* losses = nullptr;  // of the group
  double signal = 0.0;
  double noise = 0.0;
  unsigned long long saturated = 0;
  unsigned long long underflowed = 0;
  float max_ulp = 0.0F;

  const auto enter = [&](int group, std::int64_t group_rows) {
    if constexpr (kQuantized) {
      scales = scales_of_group(args, group, group_rows);
      if (args.losses != nullptr) losses = args.losses + (scales.first - args.scale_inv);
    }
  };
  const auto visit = [&](const WalkPosition& position) {
    const FloatVector x = load_floats<kType>(args.input.input, position.element);
    CodeVector codes = {};
    float scale_inv = 1.0F;
    float scale = 1.0F;
    if constexpr (kQuantized) {
      codes = load_codes(args.codes, position.element);
      scale_inv = scales.at(position.row, position.column);
      // The scale may have been FLT_MAX, whose inverse does not invert back.
      scale = __fdiv_rn(1.0F, scale_inv);
      if (scale > 3.402823466e38F) scale = 3.402823466e38F;
    }
    std::uint32_t too_large = 0;
    std::uint32_t too_small = 0;
#pragma unroll
    for (int i = 0; i < kWalkVector; ++i) {
      const float original = x.value[i];
      count_magnitude(slots[0], original);
      if constexpr (kQuantized) {
        // __fmul_rn prevents fusing the product with the subtraction: the value is rounded to FP32.
        const float value = decode_fp8<kFormat>(codes.code[i]);
        const float dequantized = __fmul_rn(value, scale_inv);
        count_magnitude(slots[1], dequantized);
        if (isfinite(original) && isfinite(dequantized)) {
          const double exact = original;
          const double error = exact - static_cast<double>(dequantized);
          signal += exact * exact;
          noise += error * error;
          max_ulp =
              fmaxf(max_ulp, code_ulps(static_cast<float>(fabs(error)), __float_as_uint(value),
                                       scale_inv, code_grid_bits(kFormat)));
        }
        // NaN compares false and is not counted.
        if (fabsf(__fmul_rn(original, scale)) > kSaturationLimit<kFormat>) ++too_large;
        if ((codes.code[i] & 0x7FU) == 0 && original != 0.0F) ++too_small;
      } else if (isfinite(original)) {
        signal += static_cast<double>(original) * static_cast<double>(original);
      }
    }
    if constexpr (kQuantized) {
      saturated += too_large;
      underflowed += too_small;
      // The elements of a vector share a scale: a block is a multiple of a vector.
      if (losses != nullptr && (too_large | too_small) != 0) {
        BlockLosses& block = losses[scales.offset(position.row, position.column)];
        if (too_large != 0) add_count(block.saturated, too_large);
        if (too_small != 0) add_count(block.underflowed, too_small);
      }
    }
  };
  const auto leave = [&](int group) {
    const double signal_sum = block_sum(signal);
    if (threadIdx.x == 0) atomicAdd(&args.sums[group].signal, signal_sum);
    signal = 0.0;
    if constexpr (kQuantized) {
      const double noise_sum = block_sum(noise);
      const unsigned long long saturated_sum = block_sum(saturated);
      const unsigned long long underflowed_sum = block_sum(underflowed);
      if (threadIdx.x == 0) {
        GroupQuantizationSums& sums = args.sums[group];
        atomicAdd(&sums.noise, noise_sum);
        atomicAdd(reinterpret_cast<unsigned long long*>(&sums.saturated), saturated_sum);
        atomicAdd(reinterpret_cast<unsigned long long*>(&sums.underflowed), underflowed_sum);
      }
      raise_to_warp_max(args.sums[group].max_ulp, max_ulp);
      max_ulp = 0.0F;
      noise = 0.0;
      saturated = underflowed = 0;
    }
  };
  walk_groups({.row_offsets = args.input.row_offsets,
               .num_groups = args.input.num_groups,
               .capacity_rows = args.input.capacity_rows,
               .columns = args.input.columns},
              enter, visit, leave);

  __syncthreads();
  add_slots(slots[0], args.before);
  add_slots(slots[kHistograms - 1], args.after);
}

using Kernel = void (*)(QuantizationStatisticsArgs);

template <InputType kType>
Kernel kernel_for_codes(const QuantizationStatisticsArgs& args) {
  if (args.codes == nullptr) return quantization_statistics_kernel<kType, Codes::None>;
  return args.format == Fp8Format::E4m3 ? quantization_statistics_kernel<kType, Codes::E4m3>
                                        : quantization_statistics_kernel<kType, Codes::E5m2>;
}

Kernel kernel_for(const QuantizationStatisticsArgs& args) {
  switch (args.input.type) {
    case InputType::Bf16:
      return kernel_for_codes<InputType::Bf16>(args);
    case InputType::Fp16:
      return kernel_for_codes<InputType::Fp16>(args);
    case InputType::Fp32:
      break;
  }
  return kernel_for_codes<InputType::Fp32>(args);
}

}  // namespace

cudaError_t quantization_statistics(const QuantizationStatisticsArgs& args, cudaStream_t stream) {
  if (!is_aligned(args.input.input, 16) || !is_aligned(args.codes, 8)) {
    return cudaErrorInvalidValue;
  }
  const WalkGrid grid = walk_grid({.row_offsets = args.input.row_offsets,
                                   .num_groups = args.input.num_groups,
                                   .capacity_rows = args.input.capacity_rows,
                                   .columns = args.input.columns});
  if (grid.error != cudaSuccess || grid.blocks == 0) return grid.error;
  kernel_for(args)<<<grid.blocks, kWalkThreads, 0, stream>>>(args);
  return cudaGetLastError();
}

}  // namespace kernels

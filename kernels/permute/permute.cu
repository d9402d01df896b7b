// Permute and unpermute on the device. Both walk the tokens, not the rows: a token is read once
// however many copies it has, and the sum over its copies stays in registers. A warp takes a part
// of a row, eight elements per lane and step; parts are independent of each other and of the grid.
#include "kernels/common/group_search.cuh"
#include "kernels/common/input_vectors.cuh"
#include "kernels/common/launch.cuh"
#include "kernels/permute/permute.h"

namespace kernels {
namespace {

constexpr int kWarps = kThreads / 32;
constexpr int kWaves = 4;

/// Steps of a lane in one part of a row.
template <InputType kType>
constexpr int kSteps = kType == InputType::Fp32 ? 2 : 4;
/// The same where several rows are in flight, and how many of them.
template <InputType kType>
constexpr int kSumSteps = kType == InputType::Fp32 ? 1 : 2;
constexpr int kRowsAtOnce = 4;

__device__ __forceinline__ std::int64_t grid_warp() {
  return std::int64_t{blockIdx.x} * kWarps + static_cast<int>(threadIdx.x) / 32;
}
__device__ __forceinline__ std::int64_t grid_warps() { return std::int64_t{gridDim.x} * kWarps; }

/// Zeroes the padding of every group, in parts of rows like those of the tokens.
template <InputType kType>
__device__ __forceinline__ void clear_padding(const PermutedRows& rows, std::int64_t columns,
                                              void* output) {
  if (rows.padded_row_offsets == nullptr) return;
  const std::int64_t steps_per_row = columns / kStep;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  // From the last warp down: the first ones have one token more.
  for (std::int64_t g = grid_warps() - 1 - grid_warp(); g < rows.num_groups; g += grid_warps()) {
    const std::int64_t first =
        rows.padded_row_offsets[g] + rows.row_offsets[g + 1] - rows.row_offsets[g];
    const std::int64_t end = rows.padded_row_offsets[g + 1] * steps_per_row;
    for (std::int64_t step = first * steps_per_row + lane; step < end; step += 32) {
      store_step<kType>(zero_step<kType>(), output, step);
    }
  }
}

template <InputType kType>
__global__ __launch_bounds__(kThreads) void permute_kernel(
    const __grid_constant__ PermuteArgs args) {
  wait_for_predecessor();
  const PermutedRows& rows = args.rows;
  const std::int64_t steps_per_row = args.columns / kStep;
  const std::int64_t parts = ceil_div(steps_per_row, 32 * kSteps<kType>);
  const int lane = static_cast<int>(threadIdx.x) & 31;
  for (std::int64_t i = grid_warp(); i < rows.tokens * parts; i += grid_warps()) {
    const std::int64_t token = i / parts;
    const std::int64_t first = (i - token * parts) * 32 * kSteps<kType> + lane;
    RawStep<kType> values[kSteps<kType>];
#pragma unroll
    for (int s = 0; s < kSteps<kType>; ++s) {
      const std::int64_t step = first + 32 * s;
      values[s] = step < steps_per_row ? load_step<kType>(args.input, token * steps_per_row + step)
                                       : zero_step<kType>();
    }
    const std::int32_t* const copy_rows = rows.copy_rows + token * rows.top_k;
    for (int k = 0; k < rows.top_k; ++k) {
      const std::int64_t row = __ldg(copy_rows + k);
      if (row < 0) continue;
#pragma unroll
      for (int s = 0; s < kSteps<kType>; ++s) {
        const std::int64_t step = first + 32 * s;
        if (step < steps_per_row) store_step(values[s], args.output, row * steps_per_row + step);
      }
    }
  }
  clear_padding<kType>(rows, args.columns, args.output);
}

template <InputType kType, bool kWeighted>
__global__ __launch_bounds__(kThreads) void unpermute_kernel(
    const __grid_constant__ UnpermuteArgs args) {
  wait_for_predecessor();
  constexpr int kOwn = kSumSteps<kType>;
  const PermutedRows& rows = args.rows;
  const std::int64_t steps_per_row = args.columns / kStep;
  const std::int64_t parts = ceil_div(steps_per_row, 32 * kOwn);
  const int lane = static_cast<int>(threadIdx.x) & 31;
  for (std::int64_t i = grid_warp(); i < rows.tokens * parts; i += grid_warps()) {
    const std::int64_t token = i / parts;
    const std::int64_t first = (i - token * parts) * 32 * kOwn + lane;
    float sums[kOwn][kStep] = {};
    for (int k = 0; k < rows.top_k; k += kRowsAtOnce) {
      std::int64_t row[kRowsAtOnce];
      [[maybe_unused]] float weight[kRowsAtOnce];
      RawStep<kType> values[kRowsAtOnce][kOwn];
#pragma unroll
      for (int j = 0; j < kRowsAtOnce; ++j) {
        const std::int64_t copy = token * rows.top_k + k + j;
        const bool exists = k + j < rows.top_k;
        row[j] = exists ? __ldg(rows.copy_rows + copy) : -1;
        if constexpr (kWeighted) weight[j] = exists ? __ldg(args.probabilities + copy) : 0.0F;
      }
#pragma unroll
      for (int j = 0; j < kRowsAtOnce; ++j) {
#pragma unroll
        for (int s = 0; s < kOwn; ++s) {
          const std::int64_t step = first + 32 * s;
          values[j][s] = row[j] >= 0 && step < steps_per_row
                             ? load_step<kType>(args.input, row[j] * steps_per_row + step)
                             : zero_step<kType>();
        }
      }
#pragma unroll
      for (int j = 0; j < kRowsAtOnce; ++j) {
        if (row[j] < 0) continue;
#pragma unroll
        for (int s = 0; s < kOwn; ++s) {
          float own[kStep];
          step_values(values[j][s], own);
#pragma unroll
          for (int e = 0; e < kStep; ++e) {
            const float addend = kWeighted ? __fmul_rn(weight[j], own[e]) : own[e];
            sums[s][e] = __fadd_rn(sums[s][e], addend);
          }
        }
      }
    }
#pragma unroll
    for (int s = 0; s < kOwn; ++s) {
      const std::int64_t step = first + 32 * s;
      if (step >= steps_per_row) break;
      RawStep<kType> sum;
#pragma unroll
      for (int pair = 0; pair < kStep / 2; ++pair) {
        set_pair(sum, pair, sums[s][2 * pair], sums[s][2 * pair + 1]);
      }
      store_step(sum, args.output, token * steps_per_row + step);
    }
  }
}

/// A warp per copy, because a probability's gradient is a sum over the whole row; the copies of a
/// token are neighbours, so that all but the first read of its gradient hit the L1 cache.
template <InputType kType, bool kDots>
__global__ __launch_bounds__(kThreads) void unpermute_gradient_kernel(
    const __grid_constant__ UnpermuteGradientArgs args) {
  wait_for_predecessor();
  constexpr int kOwn = kSumSteps<kType>;
  const PermutedRows& rows = args.rows;
  const std::int64_t steps_per_row = args.columns / kStep;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  for (std::int64_t copy = grid_warp(); copy < rows.tokens * rows.top_k; copy += grid_warps()) {
    const std::int64_t row = __ldg(rows.copy_rows + copy);
    if (row < 0) {
      if constexpr (kDots) {
        if (lane == 0) args.probability_gradient[copy] = 0.0F;
      }
      continue;
    }
    const std::int64_t of_token = copy / rows.top_k * steps_per_row;
    const std::int64_t of_row = row * steps_per_row;
    const float probability = __ldg(args.probabilities + copy);
    float dot = 0.0F;
    for (std::int64_t first = lane; first < steps_per_row; first += 32 * kOwn) {
      RawStep<kType> gradient[kOwn];
      [[maybe_unused]] RawStep<kType> value[kOwn];
#pragma unroll
      for (int s = 0; s < kOwn; ++s) {
        const std::int64_t step = first + 32 * s;
        if (step >= steps_per_row) break;
        gradient[s] = load_step<kType>(args.gradient, of_token + step);
        if constexpr (kDots) value[s] = load_step<kType>(args.permuted, of_row + step);
      }
#pragma unroll
      for (int s = 0; s < kOwn; ++s) {
        const std::int64_t step = first + 32 * s;
        if (step >= steps_per_row) break;
        RawStep<kType> scaled;
#pragma unroll
        for (int pair = 0; pair < kStep / 2; ++pair) {
          const float2 g = step_pair(gradient[s], pair);
          set_pair(scaled, pair, __fmul_rn(probability, g.x), __fmul_rn(probability, g.y));
          if constexpr (kDots) {
            const float2 v = step_pair(value[s], pair);
            dot = __fadd_rn(dot, __fmul_rn(g.x, v.x));
            dot = __fadd_rn(dot, __fmul_rn(g.y, v.y));
          }
        }
        store_step(scaled, args.permuted_gradient, of_row + step);
      }
    }
    if constexpr (kDots) {
#pragma unroll
      for (int distance = 16; distance > 0; distance /= 2) {
        dot = __fadd_rn(dot, __shfl_xor_sync(kFullWarp, dot, distance));
      }
      if (lane == 0) args.probability_gradient[copy] = dot;
    }
  }
  clear_padding<kType>(rows, args.columns, args.permuted_gradient);
}

cudaError_t check_rows(const PermutedRows& rows, std::int64_t columns,
                       std::initializer_list<const void*> operands) {
  if (rows.tokens < 0 || rows.top_k < 1 || rows.num_groups < 0 || columns <= 0 ||
      columns % kStep != 0) {
    return cudaErrorInvalidValue;
  }
  if (rows.padded_row_offsets != nullptr && rows.row_offsets == nullptr) {
    return cudaErrorInvalidValue;
  }
  for (const void* operand : operands) {
    if (reinterpret_cast<std::uintptr_t>(operand) % 16 != 0) return cudaErrorMisalignedAddress;
  }
  return cudaSuccess;
}

/// `items` of a warp's work, or the padding alone.
template <class Args>
cudaError_t launch_rows(void (*kernel)(Args), std::int64_t items, LaunchStream stream,
                        const Args& args) {
  const std::int64_t work = std::max<std::int64_t>(items, args.rows.num_groups);
  const unsigned grid = resident_grid(kernel, work, kWarps, kWaves);
  return launch_dependent(kernel, {.grid = grid, .threads = kThreads}, stream, args);
}

}  // namespace

cudaError_t permute(const PermuteArgs& args, LaunchStream stream) {
  if (const cudaError_t bad = check_rows(args.rows, args.columns, {args.input, args.output});
      bad != cudaSuccess) {
    return bad;
  }
  cudaError_t error = cudaSuccess;
  dispatch_input(args.type, [&](auto type) {
    const std::int64_t parts = ceil_div(args.columns, std::int64_t{32} * kStep * kSteps<type()>);
    error = launch_rows(permute_kernel<type()>, args.rows.tokens * parts, stream, args);
  });
  return error;
}

cudaError_t unpermute(const UnpermuteArgs& args, LaunchStream stream) {
  if (const cudaError_t bad = check_rows(args.rows, args.columns, {args.input, args.output});
      bad != cudaSuccess) {
    return bad;
  }
  if (args.rows.tokens == 0) return cudaSuccess;
  cudaError_t error = cudaSuccess;
  dispatch_input(args.type, [&](auto type) {
    const std::int64_t parts = ceil_div(args.columns, std::int64_t{32} * kStep * kSumSteps<type()>);
    const auto kernel = args.probabilities != nullptr ? unpermute_kernel<type(), true>
                                                      : unpermute_kernel<type(), false>;
    error = launch_rows(kernel, args.rows.tokens * parts, stream, args);
  });
  return error;
}

cudaError_t unpermute_gradient(const UnpermuteGradientArgs& args, LaunchStream stream) {
  if (const cudaError_t bad = check_rows(args.rows, args.columns,
                                         {args.gradient, args.permuted, args.permuted_gradient});
      bad != cudaSuccess) {
    return bad;
  }
  const bool dots = args.probability_gradient != nullptr;
  if (args.probabilities == nullptr || dots != (args.permuted != nullptr)) {
    return cudaErrorInvalidValue;
  }
  cudaError_t error = cudaSuccess;
  dispatch_input(args.type, [&](auto type) {
    const auto kernel =
        dots ? unpermute_gradient_kernel<type(), true> : unpermute_gradient_kernel<type(), false>;
    error = launch_rows(kernel, args.rows.tokens * args.rows.top_k, stream, args);
  });
  return error;
}

}  // namespace kernels

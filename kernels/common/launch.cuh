// Used by every launcher: rejecting operands that the kernels cannot address, a grid that depends
// on the capacity only, and dispatch from run-time enums to template arguments.
#pragma once

#include <algorithm>
#include <utility>

#include "kernels/common/dependent_launch.cuh"
#include "kernels/common/strip_table.cuh"
#include "kernels/common/types.h"

namespace kernels {

inline constexpr int kThreads = 256;

/// Vector accesses need 16-byte aligned rows.
inline cudaError_t check_operands(const GroupedInput& input, const void* output) {
  const auto misaligned = [](const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer) % 16 != 0;
  };
  if (input.num_groups < 0 || input.num_groups > kMaxGroups) return cudaErrorInvalidValue;
  if (input.columns <= 0 || input.columns % 16 != 0) return cudaErrorInvalidValue;
  if (misaligned(input.input) || misaligned(output)) return cudaErrorMisalignedAddress;
  return cudaSuccess;
}

/// Blocks that cover `work_items` at `items_per_block` each, but no more than are resident at
/// once: kernels loop over the rest, and a block that had to wait for a slot would start when the
/// others are nearly done. 0 = the device query failed, which makes the launch fail.
/// `waves` above 1 trades that for blocks that start while others wait at a barrier.
/// `shared_bytes` is the dynamic shared memory of the launch.
template <typename Kernel>
unsigned resident_grid(Kernel kernel, std::int64_t work_items, std::int64_t items_per_block,
                       int waves = 1, std::size_t shared_bytes = 0, int block_threads = kThreads) {
  int device = 0;
  int multiprocessors = 0;
  int blocks = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device) !=
          cudaSuccess ||
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, block_threads, shared_bytes) !=
          cudaSuccess) {
    return 0;
  }
  const std::int64_t resident = std::int64_t{multiprocessors} * blocks * waves;
  return static_cast<unsigned>(
      std::clamp<std::int64_t>(ceil_div(work_items, items_per_block), 1, resident));
}

template <InputType kValue>
using InputConstant = std::integral_constant<InputType, kValue>;
template <Fp8Format kValue>
using FormatConstant = std::integral_constant<Fp8Format, kValue>;

/// Calls launch with the type as a compile-time constant.
template <typename Launch>
void dispatch_input(InputType type, Launch launch) {
  switch (type) {
    case InputType::Bf16:
      return launch(InputConstant<InputType::Bf16>{});
    case InputType::Fp16:
      return launch(InputConstant<InputType::Fp16>{});
    case InputType::Fp32:
      return launch(InputConstant<InputType::Fp32>{});
  }
}

/// The same with the FP8 format as the second argument.
template <typename Launch>
void dispatch_cast(InputType type, Fp8Format format, Launch launch) {
  dispatch_input(type, [&](auto input) {
    if (format == Fp8Format::E4m3) {
      launch(input, FormatConstant<Fp8Format::E4m3>{});
    } else {
      launch(input, FormatConstant<Fp8Format::E5m2>{});
    }
  });
}

}  // namespace kernels

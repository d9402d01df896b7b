// Used by every launcher: rejecting operands that the kernels cannot address, a grid that depends
// on the capacity only, and dispatch from run-time enums to template arguments.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include "kernels/common/group_tables.cuh"
#include "kernels/common/types.h"

namespace kernels {

// Programmatic dependent launch between the kernels of a step: the launch, and the two statements
// in a kernel that make it correct.
//
// Every kernel that is launched here waits in its first statement, in every thread: then it ends
// after its predecessor, so that waiting for the predecessor alone waits for all work before it. A
// kernel that read before the wait, or a block that exited without it, would break that chain for
// every later kernel. A foreign predecessor (cuBLASLt) that never triggers is waited for until it
// ends, as without the attribute.

/// Waits until everything before this grid has ended and its writes are visible. Returns at once in
/// a grid launched without the attribute.
__device__ __forceinline__ void wait_for_predecessor() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

/// Lets the next grid become resident once every block of this one has reached this call. For
/// kernels followed by another kernel launched here, which becomes resident as these blocks exit
/// and waits.
__device__ __forceinline__ void let_successor_start() {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

struct LaunchShape {
  dim3 grid = 1;
  unsigned threads = 1;
  std::size_t shared_bytes = 0;
};

/// Every launch goes through here. The error is taken, not peeked at: a rejected launch must not be
/// blamed on the next launcher. The arguments go as they are, with what their padding holds: GCC's
/// builtin that clears it also clears members where a structure has an array of structures.
template <typename... Parameters>
cudaError_t launch_configured(const cudaLaunchConfig_t& config, void (*kernel)(Parameters...),
                              std::type_identity_t<Parameters>... arguments) {
  void* pointers[] = {&arguments..., nullptr};  // an array has at least one element
  const cudaError_t launched =
      cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kernel), pointers);
  const cudaError_t noted = cudaGetLastError();
  return launched != cudaSuccess ? launched : noted;
}

inline cudaLaunchConfig_t launch_config(const LaunchShape& shape, cudaStream_t stream) {
  cudaLaunchConfig_t config = {};
  config.gridDim = shape.grid;
  config.blockDim = dim3(shape.threads);
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  return config;
}

/// For kernels that are not launched while another one ends: those of no step.
template <typename... Parameters>
cudaError_t launch_plain(void (*kernel)(Parameters...), const LaunchShape& shape,
                         cudaStream_t stream,
                         const std::type_identity_t<Parameters>&... arguments) {
  return launch_configured(launch_config(shape, stream), kernel, arguments...);
}

/// Kernels launched here begin with wait_for_predecessor().
template <typename... Parameters>
cudaError_t launch_dependent(void (*kernel)(Parameters...), const LaunchShape& shape,
                             const LaunchStream& on, const Parameters&... arguments) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = launch_config(shape, on.stream);
  config.attrs = &attribute;
  config.numAttrs = on.programmatic ? 1U : 0U;
  return launch_configured(config, kernel, arguments...);
}

inline constexpr int kThreads = 256;

/// Vector accesses need 16-byte aligned rows.
inline cudaError_t check_operands(const GroupedInput& input, const void* output) {
  const auto misaligned = [](const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer) % 16 != 0;
  };
  if (input.num_groups < 0 || input.num_groups > kMaxGroups) return cudaErrorInvalidValue;
  if (input.columns <= 0 || input.columns % 16 != 0) return cudaErrorInvalidValue;
  // Half of the columns of a gated gradient are up's; a step of eight belongs to one half.
  if (input.activated_columns() % 16 != 0) return cudaErrorInvalidValue;
  if (input.output_gradient != nullptr && input.activation.is_none()) return cudaErrorInvalidValue;
  if (!is_supported(input.activation)) return cudaErrorInvalidValue;
  for (const void* pointer : {input.input, input.output_gradient, output}) {
    if (misaligned(pointer)) return cudaErrorMisalignedAddress;
  }
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

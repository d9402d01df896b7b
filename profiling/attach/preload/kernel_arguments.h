// A kernel's parameters as the driver lays them out, and the argument bytes of a launch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profiling/attach/preload/graph_api.h"
#include "profiling/attach/spool/frames.h"

namespace attach {

struct KernelHandle {
  CUfunction function = nullptr;
  CUkernel kernel = nullptr;  // where there is no function
  std::uint64_t value() const {
    return function != nullptr ? reinterpret_cast<std::uint64_t>(function)
                               : reinterpret_cast<std::uint64_t>(kernel);
  }
};
KernelHandle handle_of(const CUDA_KERNEL_NODE_PARAMS& parameters);

/// False behind the last one.
bool parameter(const GraphApi& api, KernelHandle handle, std::size_t index,
               profiling::spool::ParameterSlot& slot);

/// Where a launch has its arguments: an array of pointers to them, or one buffer.
class ArgumentSource {
 public:
  ArgumentSource(void** parameters, void** extra);

  /// Null = this launch does not say.
  const void* argument(std::size_t index, std::uint32_t offset) const {
    if (parameters_ != nullptr) return parameters_[index];
    return packed_ == nullptr ? nullptr : packed_ + offset;
  }

 private:
  void** parameters_;
  const std::byte* packed_ = nullptr;
};

/// Argument bytes at their offsets, into `bytes` (spool::kMaxArguments); returns how many. 0 = not
/// known.
std::uint32_t read_arguments(const GraphApi& api, const CUDA_KERNEL_NODE_PARAMS& parameters,
                             std::byte* bytes);

}  // namespace attach

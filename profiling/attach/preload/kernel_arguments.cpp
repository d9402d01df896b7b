#include "profiling/attach/preload/kernel_arguments.h"

#include <cstring>

namespace attach {

namespace spool = profiling::spool;

KernelHandle handle_of(const CUDA_KERNEL_NODE_PARAMS& parameters) {
  return {.function = parameters.func,
          .kernel = parameters.func == nullptr ? parameters.kern : nullptr};
}

bool parameter(const GraphApi& api, KernelHandle handle, std::size_t index,
               spool::ParameterSlot& slot) {
  std::size_t offset = 0;
  std::size_t bytes = 0;
  CUresult result = CUDA_ERROR_INVALID_VALUE;
  if (handle.function != nullptr) {
    result = api.function_parameter(handle.function, index, &offset, &bytes);
  } else if (handle.kernel != nullptr && api.kernel_parameter != nullptr) {
    result = api.kernel_parameter(handle.kernel, index, &offset, &bytes);
  }
  if (result != CUDA_SUCCESS || offset + bytes > spool::kMaxArguments) return false;
  slot = {.offset = static_cast<std::uint32_t>(offset), .bytes = static_cast<std::uint32_t>(bytes)};
  return true;
}

ArgumentSource::ArgumentSource(void** parameters, void** extra) : parameters_(parameters) {
  if (extra == nullptr) return;
  for (void** entry = extra; *entry != CU_LAUNCH_PARAM_END; entry += 2) {
    if (*entry == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      packed_ = static_cast<const std::byte*>(entry[1]);
      return;
    }
  }
}

std::uint32_t read_arguments(const GraphApi& api, const CUDA_KERNEL_NODE_PARAMS& parameters,
                             std::byte* bytes) {
  const KernelHandle handle = handle_of(parameters);
  const ArgumentSource arguments(parameters.kernelParams, parameters.extra);
  std::uint32_t end = 0;
  spool::ParameterSlot slot{};
  for (std::size_t index = 0; parameter(api, handle, index, slot); ++index) {
    const void* source = arguments.argument(index, slot.offset);
    if (source == nullptr) break;
    if (slot.offset > end) std::memset(bytes + end, 0, slot.offset - end);
    std::memcpy(bytes + slot.offset, source, slot.bytes);
    if (slot.offset + slot.bytes > end) end = slot.offset + slot.bytes;
  }
  return end;
}

}  // namespace attach

// The machine's first CUDA device, or the reason why there is none.
#pragma once

#include "engine/model/device_capability.h"
#include "engine/model/error.h"
#include "engine/model/run_result.h"

namespace engine {

struct FoundDevice {
  DeviceFacts facts;
  DeviceCapability capability;  // cublaslt_version still 0
};

/// Makes device 0 current on the calling thread. Errors: no driver, no device, or a device that
/// this build's kernels cannot run on.
Result<FoundDevice> find_device();

/// Free device memory right now, in bytes.
Result<std::int64_t> free_device_memory();

/// Of the current device, in NVML's format; empty without one.
std::string device_bus_id();
/// "CUDA runtime 13.0".
std::string cuda_runtime_text();

}  // namespace engine

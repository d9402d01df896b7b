// The machine's first CUDA device, or the reason why there is none; the contents of a captured
// graph.
#pragma once

#include "engine/device/handles.h"
#include "engine/model/backend_traits.h"
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

/// Bus id of the current device, in NVML's format; empty without a device.
std::string device_bus_id();
/// "CUDA runtime 13.0".
std::string cuda_runtime_text();

// The contents of a captured graph, read from the graph itself.

/// Counts of nodes by kind, those of child graphs included; host_launch_ns stays 0.
Result<GraphFacts> count_nodes(cudaGraph_t graph);

}  // namespace engine

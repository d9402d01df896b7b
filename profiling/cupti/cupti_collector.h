// StepObserver of the CUDA flavour: CUPTI activity records of kernels, copies, memsets and graph
// nodes.
#pragma once

#include <memory>

#include "engine/model/error.h"
#include "profiling/trace/host_spans.h"

namespace profiling {

/// Subscribes to CUPTI for the lifetime of the object (one per process). An error if another
/// profiler holds it or CUPTI is missing: the caller then uses the host-span collector and shows
/// the message.
engine::Result<std::unique_ptr<ActivityCollector>> make_cupti_collector();

}  // namespace profiling

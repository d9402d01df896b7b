// One capture of a subject's work, with everything the rules need even if CUDA refuses it.
#pragma once

#include <cuda_runtime_api.h>

#include <optional>

#include "engine/device/driver_api.h"
#include "engine/device/handles.h"
#include "engine/model/error.h"
#include "profiling/hazards/proofs/subject.h"
#include "profiling/hazards/snapshot/graph_reader.h"

namespace profiling {

struct Capture {
  engine::Graph graph;                   // empty if refused
  ReadGraph read;                        // capture times, events and failure filled in; no name
  std::optional<engine::Error> refused;  // by the call that broke the capture, or by its end
};

/// An error means that a captured graph could not be read.
engine::Result<Capture> capture_graph(const engine::DriverApi& driver, Subject& subject, int graph,
                                      cudaStream_t stream);

}  // namespace profiling

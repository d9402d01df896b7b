// What a sweep or an interleaved A/B is going to run, known before anything runs. No ImGui, no
// CUDA.
#pragma once

#include <string>
#include <vector>

#include "app/protocol/worker_link.h"
#include "engine/gemm/support.h"
#include "engine/model/run_request.h"

namespace app {

struct PlannedRun {
  engine::RunRequest request;
  std::string label;    // values on the axes, or "A" or "B"
  std::string refused;  // the gate's sentence; empty = it will run
};

/// A run that the worker cannot do as asked is refused here, with the sentence that the rail shows.
/// Hazardous settings and products on dequantized operands are not refusals.
std::string refusal_of(const engine::RunRequest& request, const WorkerHello& hello);

/// What the worker says of this backend; null when it has none such. One CUDA backend of a worker
/// serves both ways of multiplying.
const BackendOffer* offer_of(const WorkerHello& hello, engine::GemmBackend kind);
engine::DeviceCapability capability_of(const BackendOffer& offer);

}  // namespace app

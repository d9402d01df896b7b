// What a sweep or an interleaved A/B will run, known before anything runs. No ImGui, no CUDA.
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

/// A run that the worker cannot do as requested is refused here, with the sentence that the rail
/// shows. Hazardous settings and products on dequantized operands are not refusals.
std::string refusal_of(const engine::RunRequest& request, const WorkerHello& hello);

/// What the worker offers for this backend; null if it has none. A worker's single CUDA backend
/// serves both ways of multiplying.
const BackendOffer* offer_of(const WorkerHello& hello, engine::GemmBackend kind);
engine::DeviceCapability capability_of(const BackendOffer& offer);

}  // namespace app

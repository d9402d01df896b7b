// The products of a run as a page names them, and their accuracy over all experts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/run_result.h"

namespace app {

/// Those that the passes of the run have made, in the order of a step.
std::vector<engine::Product> products_of(const engine::RunResult& result);

/// Lowest SNR of all experts, for the step's first product, with what all of them leave out: "31.20
/// dB", or "dX 29.80 dB" for a step that has only a backward pass.
std::string worst_snr(const engine::RunResult& result);

/// Elements of all outputs.
std::uint64_t lost_outputs(const engine::RunResult& result);

}  // namespace app

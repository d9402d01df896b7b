// The products of a run as a page names them, and their accuracy over all experts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/run_result.h"

namespace app {

/// Those that the passes of the run have made, in the order of a step.
std::vector<engine::Product> products_of(const engine::RunResult& result);

/// Of the step's first product, the lowest of the experts that have one, with what all of theirs
/// leave out: "31.20 dB", of a step that only goes back "dX 29.80 dB".
std::string worst_snr(const engine::RunResult& result);

/// Elements of all outputs.
std::uint64_t lost_outputs(const engine::RunResult& result);

}  // namespace app

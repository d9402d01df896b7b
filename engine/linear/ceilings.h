// What the device reaches today on the step's own data: the roofs of a roofline.
#pragma once

#include "engine/linear/grouped_step.h"
#include "engine/model/measurement.h"

namespace engine {

/// A device-to-device copy as large as memory comfortably allows, and one dense cuBLASLt product
/// with the M (all tokens), N, K and recipe of the step, on its X and its first expert's W. What
/// could not be measured has no samples; `product` then says why. Synchronises.
Result<Ceilings> measure_ceilings(const GroupedStep& step, cudaStream_t stream);

}  // namespace engine

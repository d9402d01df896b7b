// The time of every expert inside one quantize launch, from the stamps that its tiles leave.
#pragma once

#include <vector>

#include "engine/linear/grouped_step.h"
#include "engine/model/measurement.h"

namespace engine {

/// Of X: from the begin of an expert's first tile to the end of its last, on the device's own clock
/// (%globaltimer). Tiles of other experts run beside them, so the times of all experts add up to
/// more than the launch. Synchronises. Unsupported for inputs other than BF16 and for recipes
/// without quantization.
Result<std::vector<ExpertTiming>> time_experts_by_stamps(const GroupedStep& step,
                                                         cudaStream_t stream);

}  // namespace engine

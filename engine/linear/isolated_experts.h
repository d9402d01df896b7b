// The time of every expert alone on the device.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "engine/linear/grouped_step.h"
#include "engine/model/measurement.h"

namespace engine {

/// X's quantization and the products of layer 0 with rows for one expert only. A grouped launch
/// then runs with the splits of all others at 0; a backend with a launch an expert runs that one.
/// An expert has all SMs to itself, so the sum over the experts is no prediction of the launch for
/// all. Experts without rows have no timing. Synchronises, overwrites outputs and quantized
/// operands; leaves the splits as they were. `cancelled` is asked between experts.
Result<std::vector<ExpertTiming>> time_isolated_experts(GroupedStep& step,
                                                        std::span<const std::int64_t> splits,
                                                        cudaStream_t stream,
                                                        const std::function<bool()>& cancelled);

}  // namespace engine

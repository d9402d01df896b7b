// What quantizing did to one operand that lies on the device.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/quantize/quantize_cuda.h"
#include "engine/quantize/statistics_fold.h"

namespace engine {

struct OperandNumbers {
  OperandStatistics statistics;
  std::vector<kernels::GroupQuantizationSums> sums;  // a group
};

/// Quantizes the operand once more, rowwise and with every amax kept (delayed scaling twice: its
/// history is one step over the same operand), and measures that. Scaling::None measures the
/// operand alone. `splits`: rows of every group. The operand and its codes stay on the device: what
/// comes to the host is counts, sums and scales with their losses. Synchronises.
Result<OperandNumbers> measure_on_device(const Recipe& recipe, OperandRole role,
                                         const kernels::GroupedInput& input,
                                         const std::vector<std::int64_t>& splits,
                                         cudaStream_t stream);

/// Device bytes that measure_on_device() allocates.
std::int64_t measure_bytes(const Recipe& recipe, OperandRole role,
                           const kernels::GroupedInput& input);

}  // namespace engine

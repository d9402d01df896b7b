// What quantizing did to layer 0, read from the device: operand statistics and the product's error
// against the product of the unquantized operands (BF16 in, FP32 out, the same grouped matmul).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/linear/grouped_step.h"
#include "engine/model/error.h"
#include "engine/model/run_result.h"

namespace engine {

struct StepNumerics {
  OperandStatistics activations;
  OperandStatistics weights;
  std::vector<ExpertResult> experts;
  /// Why the products' errors are NaN: cuBLASLt has no FP32-output product for this shape. Empty
  /// when they were measured.
  std::string no_reference;
};

/// Reads the outputs as the last launch left them. `splits` are those on the device.
Result<StepNumerics> measure_numerics(const GroupedStep& step,
                                      const std::vector<std::int64_t>& splits, cudaStream_t stream);

/// Device bytes measure_numerics() allocates beside the step.
std::int64_t numerics_bytes(const StepConfig& config);

}  // namespace engine

// Effect of quantization on layer 0, read from the device: operand statistics, and the products'
// errors against those of the unquantized operands (high precision in, FP32 out).
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
  OperandStatistics gradients;  // empty without a backward pass
  std::vector<ExpertResult> experts;
  /// Why the products' errors are NaN: cuBLASLt has no FP32-output product for this shape. Empty
  /// when they were measured.
  std::string no_reference;
};

/// Reads the outputs of the last launch, before which an accumulating dW must have been zero.
/// `splits` are those on the device.
Result<StepNumerics> measure_numerics(const GroupedStep& step,
                                      const std::vector<std::int64_t>& splits, cudaStream_t stream);

/// The same into a run's result, with a deviation where there is no reference.
Status measure_linear_numerics(const GroupedStep& step, cudaStream_t stream, RunResult& result);

/// The weights of layer 0 as one tensor: the step's own, or those of its list copied into `copy`.
Result<kernels::GroupedInput> gather_weights(const GroupedStep& step, DeviceBuffer& copy,
                                             cudaStream_t stream);

/// Device bytes measure_numerics() allocates beside the step.
std::int64_t numerics_bytes(const StepConfig& config);

}  // namespace engine

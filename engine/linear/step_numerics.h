// Effect of quantization on layer 0, read from the device: operand statistics, and the products'
// errors against those of the unquantized operands (high precision in, FP32 out).
#pragma once

#include <cstdint>

#include "engine/linear/grouped_step.h"
#include "engine/model/error.h"
#include "engine/model/run_result.h"

namespace engine {

/// Measures tensors and experts of the result after a launch, before which an accumulating dW must
/// have been zero. If cuBLASLt has no product with FP32 output for this shape, errors of products
/// are NaN and a deviation gives the reason. result.splits are those on the device.
Status measure_linear_numerics(const GroupedStep& step, cudaStream_t stream, RunResult& result);

/// The weights of layer 0 as one tensor: the step's own, or those of its list copied into `copy`.
Result<kernels::GroupedInput> gather_weights(const GroupedStep& step, DeviceBuffer& copy,
                                             cudaStream_t stream);

/// Device bytes measure_linear_numerics() allocates beside the step.
std::int64_t numerics_bytes(const StepConfig& config);

}  // namespace engine

// Reference for a step's outputs, for any splits: a second step that quantizes nothing.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/linear/grouped_step.h"
#include "engine/model/error.h"
#include "engine/quantize/output_errors.h"

namespace engine {

class OutputReference {
 public:
  virtual ~OutputReference() = default;
  /// Output errors of layer 0 in the last launch of the step. That launch had these splits, of
  /// recorded step `step`, and an accumulating dW must have been zero before it. Synchronises.
  virtual Result<OutputErrors> errors(std::span<const std::int64_t> splits, std::size_t step) = 0;

 protected:
  OutputReference() = default;
  OutputReference(OutputReference&&) = default;
  OutputReference& operator=(OutputReference&&) = default;
};

/// Unsupported: cuBLASLt has no FP32-output product for this shape. The step must outlive it.
Result<std::unique_ptr<OutputReference>> make_output_reference(const GroupedStep& step,
                                                               cudaStream_t stream);

}  // namespace engine

// What a step's outputs are compared with, for any splits: a step of its own that quantizes
// nothing.
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
  /// Of layer 0 in the last launch of the step, which had these splits of recorded step `step`, and
  /// before which an accumulating dW must have been zero. Synchronises.
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

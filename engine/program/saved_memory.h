// The memory that forward keeps for backward, from the request alone: no run is needed. The wider
// the recipe, the more of it; how the activation is computed decides about A. No CUDA.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/model/expert_layer.h"
#include "engine/model/run_request.h"

namespace engine {

/// What forward keeps of one tensor.
struct SavedTensor {
  StepTensor tensor = StepTensor::X;
  std::int64_t bytes = 0;
  bool operator==(const SavedTensor&) const = default;
};

/// What one layer saves for backward, for these tokens of every expert. In the order of
/// StepTensor: X, Wup, H, A, Wdown. A linear step saves X and W (as WUp); a layer that begins at
/// tokens also saves Y. A step without a backward pass saves nothing.
///
/// X and A are kept as the columnwise copies that dW reads, H in high precision, from which the
/// activation's gradient is computed, and weights as the columnwise copies that dgrad reads.
/// Something that is there anyway counts as 0: unquantized weights, and A where backward computes
/// it again. Tokens are not kept, because X is: as codes, or as rows if it is not quantized. The
/// gradient of the probabilities reads the rows of Y. Row numbers and probabilities of copies, 8
/// bytes each, are not counted.
std::vector<SavedTensor> saved_for_backward(const RunRequest& request,
                                            std::span<const std::int64_t> splits);

}  // namespace engine

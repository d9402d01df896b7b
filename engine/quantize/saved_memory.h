// The memory that forward keeps for backward, from the request alone: no run is needed. The wider
// the recipe, the more of it; how the activation is computed decides about A. No CUDA.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/input/tensor_source.h"
#include "engine/model/expert_layer.h"
#include "engine/model/run_request.h"
#include "kernels/dequantize/quantized_view.h"

namespace engine {

/// What forward keeps of one tensor.
struct SavedTensor {
  LayerTensor tensor = LayerTensor::X;
  std::int64_t bytes = 0;
  bool operator==(const SavedTensor&) const = default;
};

/// One tensor and its groups: `splits` rows of each, all of `columns`.
struct CopyExtent {
  OperandRole role = OperandRole::Activations;
  std::span<const std::int64_t> splits;
  std::int64_t columns = 0;
};

/// Bytes of one copy as a product reads it: codes, scales and, of NVFP4, the amax of every expert;
/// elements in high precision where the recipe quantizes nothing. Without the padding that a
/// device's products want between experts.
std::int64_t copy_bytes(const Recipe& recipe, kernels::Direction direction,
                        const CopyExtent& extent);

/// Of one layer, for these tokens of every expert. In the order of LayerTensor: X, Wup, H, A,
/// Wdown; of a linear step X and W (as WUp); nothing where the step has no backward pass.
///
/// X and A are kept as the columnwise copies that dW reads, H in high precision, from which the
/// activation's gradient is computed, and weights as the columnwise copies that dgrad reads.
/// Something that is there anyway counts as 0: unquantized weights, and A where backward computes
/// it again.
std::vector<SavedTensor> saved_for_backward(const RunRequest& request,
                                            std::span<const std::int64_t> splits);

}  // namespace engine

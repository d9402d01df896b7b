// The numerics of an expert layer, tensor by tensor, of layer 0 with all its experts.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/model/expert_layer.h"
#include "engine/model/operand_statistics.h"

namespace engine {

struct LayerTensorResult {
  LayerTensor tensor = LayerTensor::X;
  std::int64_t rows = 0;  // of all experts
  std::int64_t columns = 0;
  /// One copy as it is written: codes and scales of an operand, else elements.
  std::int64_t bytes = 0;
  /// What forward keeps of it for backward; 0 = nothing.
  std::int64_t saved_bytes = 0;
  /// Of an operand as its product reads it, of others as written, against the same tensor of a
  /// layer that computes in FP32 from the unquantized operands: everything before it counts.
  ProductAccuracy error = {};
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&LayerTensorResult::tensor>(),
                      engine::field<&LayerTensorResult::rows>(kCount),
                      engine::field<&LayerTensorResult::columns>(kCount),
                      engine::field<&LayerTensorResult::bytes>(kCount),
                      engine::field<&LayerTensorResult::saved_bytes>(kCount),
                      engine::field<&LayerTensorResult::error>({.sparse = true})};
  }
};

/// Y with this tensor left unquantized and all others quantized: what its quantization costs.
struct ErrorSource {
  LayerTensor tensor = LayerTensor::X;
  double snr_db = 0.0;         // of Y; +inf if nothing else is lost
  std::uint64_t left_out = 0;  // elements of Y that it leaves out: not finite, or their reference
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&ErrorSource::tensor>(), engine::field<&ErrorSource::snr_db>(),
                      engine::field<&ErrorSource::left_out>(kCount)};
  }
};

struct LayerResult {
  std::vector<LayerTensorResult> tensors;  // in the order of LayerTensor
  std::vector<ErrorSource> error_sources;  // of the operands of forward that are quantized
  /// The SNR of Y with all of them unquantized: rounding to high precision is what is left. NaN
  /// without a forward pass.
  double unquantized_snr_db = std::numeric_limits<double>::quiet_NaN();
  std::uint64_t unquantized_left_out = 0;
  /// Null if the run had no such tensor.
  const LayerTensorResult* find(LayerTensor tensor) const {
    for (const LayerTensorResult& one : tensors) {
      if (one.tensor == tensor) return &one;
    }
    return nullptr;
  }
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&LayerResult::tensors>({.most = kLayerTensors.size()}),
                      engine::field<&LayerResult::error_sources>({.most = kLayerTensors.size()}),
                      engine::field<&LayerResult::unquantized_snr_db>(),
                      engine::field<&LayerResult::unquantized_left_out>(kCount)};
  }
};

}  // namespace engine

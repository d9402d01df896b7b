// What a run says of the tensors of layer 0, all experts together: one row per tensor.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include "engine/model/operand_statistics.h"
#include "engine/model/step_tensors.h"

namespace engine {

/// An expert layer's Y with something left unquantized and all else quantized.
struct UnquantizedY {
  double snr_db = std::numeric_limits<double>::quiet_NaN();  // +inf if nothing else is lost
  std::uint64_t left_out = 0;  // elements of Y that it leaves out: not finite, or their reference
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&UnquantizedY::snr_db>(),
                      engine::field<&UnquantizedY::left_out>(kCount)};
  }
};

struct TensorResult {
  StepTensor tensor = StepTensor::X;
  std::int64_t rows = 0;  // of all experts
  std::int64_t columns = 0;
  /// One copy as it is written: codes and scales of an operand, else elements. 0 with elements: a
  /// recording that does not have it.
  std::int64_t bytes = 0;
  /// What forward keeps of it for backward; 0 = nothing.
  std::int64_t saved_bytes = 0;
  /// Of an operand as its product reads it, of others as written, against the same tensor of a
  /// layer that computes in FP32 from the unquantized operands: everything before it counts. Of an
  /// expert layer only.
  ProductAccuracy error = {};
  /// What quantization did to it, by itself; only of an operand.
  std::optional<OperandStatistics> quantization = {};
  /// Y with this tensor unquantized: what its quantization costs. Only of the operands of an expert
  /// layer's forward pass that are quantized.
  std::optional<UnquantizedY> unquantized_y = {};

  bool has_bytes() const { return bytes > 0 || rows == 0 || columns == 0; }
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&TensorResult::tensor>(),
                      engine::field<&TensorResult::rows>(kCount),
                      engine::field<&TensorResult::columns>(kCount),
                      engine::field<&TensorResult::bytes>(kCount),
                      engine::field<&TensorResult::saved_bytes>(kCount),
                      engine::field<&TensorResult::error>({.sparse = true}),
                      engine::field<&TensorResult::quantization>(),
                      engine::field<&TensorResult::unquantized_y>()};
  }
};

/// What only an expert layer has, beside its tensors.
struct LayerResult {
  /// The SNR of Y with all operands unquantized: rounding to high precision is what is left. NaN
  /// without a forward pass.
  double unquantized_snr_db = std::numeric_limits<double>::quiet_NaN();
  std::uint64_t unquantized_left_out = 0;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&LayerResult::unquantized_snr_db>(),
                      engine::field<&LayerResult::unquantized_left_out>(kCount)};
  }
};

}  // namespace engine

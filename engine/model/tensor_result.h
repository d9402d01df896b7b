// Results of a run for the tensors of layer 0, all experts together: one row per tensor.
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
  /// Bytes of one copy as it is written: codes and scales of an operand, elements of other tensors.
  /// 0 with elements: the recording does not have this number.
  std::int64_t bytes = 0;
  /// Bytes that forward keeps of it for backward; 0 = none.
  std::int64_t saved_bytes = 0;
  /// Error of an operand as its product reads it, and of other tensors as written, against the same
  /// tensor of a step that computes in FP32 from the unquantized operands; it includes everything
  /// before the tensor. A linear step has it of its outputs alone, and not of db.
  ProductAccuracy error = {};
  /// Effect of quantization on the tensor alone; only for an operand.
  std::optional<OperandStatistics> quantization = {};
  /// Y with this tensor unquantized, which shows what its quantization costs. Only for operands of
  /// an expert layer's forward pass that are quantized.
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

/// Results that only an expert layer has, besides its tensors.
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

// Quantization of one operand, expert by expert: what the step times and what the statistics read.
// Scales of all experts stay (they are small), codes only those of the last expert.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/backend/cpu/buffer.h"
#include "engine/backend/statistics_fold.h"
#include "engine/input/tensor_source.h"
#include "engine/model/run_request.h"
#include "kernels/common/types.h"

namespace engine {

/// Rows of one expert's operand, in its own element type.
struct ExpertElements {
  int expert = 0;
  std::int64_t rows = 0;
  const std::byte* elements = nullptr;  // [rows, columns]
};

struct OperandPlan {
  OperandRole role = OperandRole::Activations;
  Recipe recipe;
  ElementType element = ElementType::Bf16;
  std::vector<std::int64_t> splits;  // rows per expert: routed for X, n for W
  std::int64_t columns = 0;          // k

  int layers = 1;  // each has its own amax history

  bool per_tensor() const { return recipe.scaling == Scaling::PerTensorCurrent; }
  bool delayed() const { return recipe.scaling == Scaling::PerTensorDelayed; }
  bool quantized() const { return recipe.scaling != Scaling::None; }
  /// BF16 recipe on wider elements: the product reads them rounded.
  bool rounded() const { return !quantized() && element != ElementType::Bf16; }
};

class OperandStage {
 public:
  void configure(OperandPlan plan);
  const OperandPlan& plan() const { return plan_; }

  /// First pass of per-tensor scaling.
  void measure_amax(const ExpertElements& expert);
  /// Codes and scales; of per-tensor scaling after measure_amax, of delayed scaling from the amax
  /// of this layer's earlier calls. BF16: rounds wider elements.
  void quantize(const ExpertElements& expert, int layer);
  /// What the product reads: dequantized codes, or BF16 values, as FP32 [rows, columns].
  const float* widen(const ExpertElements& expert);

  /// Codes of the last quantized expert; null for BF16.
  const std::uint8_t* codes() const { return plan_.quantized() ? codes_.get() : nullptr; }
  const std::uint16_t* rounded() const { return rounded_.get(); }
  const float* expert_scale_inv(int expert) const {
    return scale_inv_.get() + scale_offsets_[static_cast<std::size_t>(expert)];
  }
  kernels::GroupedInput input(const ExpertElements& expert, std::int64_t (&offsets)[2]) const;
  kernels::Fp8Format format() const;
  kernels::ScaleLayout layout() const;
  /// Scales and amax of every expert quantized so far.
  ScaleMapSource scales() const;
  const float* amax() const { return amax_.get(); }

 private:
  void quantize_delayed(const ExpertElements& expert, int layer);

  OperandPlan plan_;
  std::vector<std::int64_t> scale_offsets_;  // [experts + 1] floats before each expert's scales
  Buffer<float> amax_;                       // laid out as scale_inv_
  Buffer<float> scale_inv_;
  Buffer<float> scale_;         // per-tensor: one an expert; delayed: [layers, experts]
  Buffer<float> history_;       // delayed: [layers, experts, history_length]
  Buffer<std::uint8_t> codes_;  // [rows, columns] of the last expert
  Buffer<std::uint16_t> rounded_;
  Buffer<float> wide_;
};

}  // namespace engine

// Quantization of one operand in one direction, expert by expert: what the step times and what the
// statistics read. Scales of all experts stay (they are small); codes too where a later pass or
// iteration reads them, else only those of the last expert.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/input/operand_store.h"
#include "engine/input/tensor_source.h"
#include "engine/model/recipe_traits.h"
#include "engine/model/run_request.h"
#include "engine/quantize/quantize_cpu.h"
#include "engine/quantize/statistics_fold.h"
#include "kernels/common/types.h"

namespace engine {

/// Rows of one expert's operand, in its own element type; or what an activation makes of them, as
/// in kernels::GroupedInput, which defines the widths too.
struct ExpertElements {
  int expert = 0;
  std::int64_t rows = 0;
  const std::byte* elements = nullptr;  // [rows, columns]
  kernels::Activation activation = {};
  const std::byte* output_gradient = nullptr;
};

struct OperandPlan {
  OperandRole role = OperandRole::Activations;
  Recipe recipe;
  kernels::Direction direction = kernels::Direction::Rowwise;
  ElementType element = ElementType::Bf16;
  std::vector<std::int64_t> splits;  // rows per expert: routed for X and dY, n for W
  std::int64_t columns = 0;
  int layers = 1;           // each has its own amax history
  bool keep_codes = false;  // of every layer and expert
  std::uint64_t seed = 1;   // of stochastic rounding

  const RecipeTraits& traits() const { return traits_of(recipe); }
  bool quantized() const { return traits().quantizes(); }
  /// Nothing is quantized, but the product reads narrower elements.
  bool rounded() const { return !quantized() && element != recipe.high_precision; }
};

class OperandStage {
 public:
  void configure(OperandPlan plan);
  /// Other rows per expert for the same operand: what delayed scaling remembers stays.
  void set_splits(const std::vector<std::int64_t>& splits);
  const OperandPlan& plan() const { return plan_; }

  /// Call only if RecipeTraits::measures_amax().
  void measure_amax(const ExpertElements& expert, int layer);
  /// Writes codes and scales. Some recipes need measure_amax first; delayed scaling uses the amax
  /// of this layer's earlier calls; BF16 and FP16 round wider elements. Stochastic rounding draws
  /// new numbers in every call, by layer, expert and element.
  void quantize(const ExpertElements& expert, int layer);
  /// What the product reads: dequantized codes, or BF16 or FP16 values, as FP32 [rows, columns].
  /// Only the latter need expert.elements, and not when rounded.
  const float* widen(const ExpertElements& expert, int layer);

  const std::uint16_t* rounded(int layer, int expert) const;
  kernels::GroupedInput input(const ExpertElements& expert, std::int64_t (&offsets)[2]) const;
  OperandLayout layout(std::int64_t rows) const;
  /// View of a quantized expert, which must be the last one if codes are not kept; fills `offsets`
  /// as input() does.
  kernels::QuantizedView view(int layer, int expert, std::int64_t (&offsets)[2]) const;
  /// Scales and amax of layer 0, of every expert quantized so far; no scales where nothing is
  /// quantized.
  ScaleArrays scales() const;
  /// Index of an expert's first one among scales().
  std::int64_t first_scale(int expert) const;

 private:
  void lay_out();
  void clear_scales();
  std::size_t slot(int layer, int expert) const {
    return static_cast<std::size_t>(layer) * plan_.splits.size() + static_cast<std::size_t>(expert);
  }
  float* scales_at(std::size_t slot) const { return scales_.get() + scale_offsets_[slot]; }
  float* amax_at(std::size_t slot) const;
  std::uint8_t* codes_at(std::size_t slot) const { return codes_.get() + code_offsets_[slot]; }
  /// `offsets` are filled as those of input().
  CpuCast cast(const ExpertElements& expert, std::size_t slot, std::int64_t (&offsets)[2]);
  void round(const ExpertElements& expert, std::size_t slot);

  OperandPlan plan_;
  // A slot is an expert of a layer.
  std::vector<std::int64_t> scale_offsets_;  // [slots + 1] floats before each slot's scales
  std::vector<std::int64_t> code_offsets_;   // [slots] bytes; all 0 when codes are not kept
  Buffer<float> scales_;                     // micro scales are bytes in here
  Buffer<float> amax_;                       // one per slot, or laid out as scales_
  Buffer<float> scale_;                      // per tensor: one per slot
  Buffer<float> history_;                    // delayed: [slots, history_length]
  Buffer<std::uint8_t> codes_;
  Buffer<std::uint16_t> rounded_;  // code_offsets_ are then in elements
  Buffer<float> wide_;
  std::uint64_t calls_ = 0;
};

}  // namespace engine

// What an expert layer computes without any loss: in FP32, from the unquantized operands, expert by
// expert.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/backend/cpu/unquantized_layer.h"

namespace engine {

class ExpertLayerReference {
 public:
  explicit ExpertLayerReference(CpuExpertLayer& layer);

  /// Every tensor of one expert of layer 0; those of backward only if the step has such a pass.
  void compute(int expert);
  /// Yt, dXt or dp of a step that begins at tokens; call it after compute() of every expert.
  std::vector<float> of_tokens(StepTensor tensor) const;
  /// FP32, in the shape of the expert's tensor; valid until the next compute().
  const float* of(StepTensor tensor) const {
    return static_cast<const float*>(exact_.values(tensor));
  }
  /// Rows and columns of that tensor of the expert.
  std::int64_t rows(StepTensor tensor) const { return exact_.rows(tensor); }
  std::int64_t columns(StepTensor tensor) const { return exact_.columns(tensor); }
  const std::vector<Operation>& operations() const { return exact_.operations(); }

 private:
  float* room(StepTensor tensor) { return static_cast<float*>(exact_.room(tensor)); }
  /// An operand that no operation makes, or that one on tokens does.
  void load(StepTensor tensor);
  void gather(StepTensor tensor, const OperandStore& from, bool weighted);
  void find_copies();
  void add_to_tokens(bool backward);
  std::vector<double>& sums(StepTensor tensor);
  void read(StepTensor tensor, const OperandStore& from, std::int64_t first_row);

  CpuExpertLayer& layer_;
  UnquantizedLayer exact_;
  std::vector<StepTensor> loaded_;
  int expert_ = 0;
  std::vector<std::int64_t> copies_;  // of the expert's rows: token * top_k + place
  std::array<std::vector<double>, kStepTensors.size()> token_sums_;
};

}  // namespace engine

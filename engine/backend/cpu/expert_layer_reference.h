// What an expert layer computes without any loss: in FP32, from the unquantized operands, expert by
// expert.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/backend/cpu/cpu_expert_layer.h"

namespace engine {

class ExpertLayerReference {
 public:
  explicit ExpertLayerReference(CpuExpertLayer& layer) : layer_(layer) {}

  /// Every tensor of one expert of layer 0; those of backward only if the step has such a pass.
  void compute(int expert);
  /// Yt, dXt or dp of a step that begins at tokens; call it after compute() of every expert.
  std::vector<float> of_tokens(StepTensor tensor) const;
  /// FP32, in the shape of the expert's tensor; valid until the next compute().
  const float* of(StepTensor tensor) const { return at(tensor).get(); }
  /// Rows and columns of that tensor of the expert.
  std::int64_t rows(StepTensor tensor) const;
  std::int64_t columns(StepTensor tensor) const;

 private:
  Buffer<float>& at(StepTensor tensor) { return tensors_[static_cast<std::size_t>(tensor)]; }
  const Buffer<float>& at(StepTensor tensor) const {
    return tensors_[static_cast<std::size_t>(tensor)];
  }
  float* room(StepTensor tensor) { return at(tensor).reserve(rows(tensor) * columns(tensor)); }
  void gather(StepTensor tensor, const OperandStore& from, bool weighted);
  void add_to_tokens(bool backward);
  std::vector<double>& sums(StepTensor tensor);
  void read(StepTensor tensor, const OperandStore& from, std::int64_t first_row);

  CpuExpertLayer& layer_;
  int expert_ = 0;
  std::vector<std::int64_t> copies_;  // of the expert's rows: token * top_k + place
  std::array<std::vector<double>, kStepTensors.size()> token_sums_;
  std::array<Buffer<float>, kStepTensors.size()> tensors_;
};

}  // namespace engine

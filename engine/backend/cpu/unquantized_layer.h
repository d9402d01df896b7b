// One expert of an expert layer that quantizes nothing, operation by operation of its program and
// in memory of its own: in FP32 the reference of errors, in high precision a layer of which some
// operands are left unquantized.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/backend/cpu/cpu_expert_layer.h"
#include "engine/program/operations.h"

namespace engine {

class UnquantizedLayer {
 public:
  /// What a product reads of an operand, in FP32 and in the shape of the expert's tensor.
  using Operands = std::function<const float*(StepTensor)>;

  /// `written`: element type of every tensor that an operation writes.
  UnquantizedLayer(CpuExpertLayer& layer, StepPasses passes, ElementType written);

  void begin(int expert) { expert_ = expert; }
  /// What one expert of layer 0 runs, in its order: products, and what is between them.
  const std::vector<Operation>& operations() const { return operations_; }
  void run(std::span<const Operation> operations, const Operands& operand);

  /// Memory of the expert's tensor, valid until the next begin().
  void* room(StepTensor tensor);
  const void* values(StepTensor tensor) const { return memory(tensor).get(); }
  std::int64_t rows(StepTensor tensor) const;
  std::int64_t columns(StepTensor tensor) const;

 private:
  const Buffer<std::byte>& memory(StepTensor tensor) const {
    return memory_[static_cast<std::size_t>(tensor)];
  }
  void multiply(const Operation& operation, const Operands& operand);
  CpuProjection& projection(const Operation& operation) const;

  CpuExpertLayer& layer_;
  ElementType written_;
  std::vector<Operation> operations_;
  int expert_ = 0;
  std::array<Buffer<std::byte>, kStepTensors.size()> memory_;
};

}  // namespace engine

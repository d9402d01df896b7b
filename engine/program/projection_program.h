// The part of a program that one grouped step on the device implements: the operations of one
// projection, for one micro-batch. What a step allocates follows from it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/model/run_result.h"
#include "engine/program/lives.h"
#include "engine/program/step_program.h"

namespace engine {

/// What one quantize operation makes of an operand, and how long the step needs each copy.
struct OperandCopies {
  StepTensor tensor = StepTensor::X;
  OperandRole role = OperandRole::Activations;
  int layer = 0;
  bool again = false;                      // Operation::again
  std::optional<BufferLife> rowwise = {};  // empty: there is no such copy
  std::optional<BufferLife> columnwise = {};

  CopyForms forms() const {
    return (rowwise ? CopyForms::Rowwise : CopyForms::None) |
           (columnwise ? CopyForms::Columnwise : CopyForms::None);
  }
  bool has(ValueForm form) const {
    return form == ValueForm::Rowwise ? rowwise.has_value()
                                      : form == ValueForm::Columnwise && columnwise.has_value();
  }
};

class ProjectionProgram {
 public:
  ProjectionProgram() = default;
  explicit ProjectionProgram(std::shared_ptr<const StepProgram> program,
                             Projection projection = Projection::Up, int micro_batch = 0);

  const StepProgram& program() const { return *program_; }
  const ProjectionTensors& tensors() const { return tensors_; }
  /// Copies in the order in which a step first makes them. Micro-batches after the first read its
  /// weights and make no copies of their own.
  std::vector<OperandCopies> copies() const;
  /// Each product of each layer once: those of fprop by layer, then those of the gradients by
  /// layer, dgrad first.
  std::vector<Operation> products() const;
  /// The operations of this kind, each layer's once.
  std::vector<Operation> operations(OperationKind kind) const;
  /// Number of layers that have their own operand of this role: all, or one if they share it.
  int operands(OperandRole role) const;

 private:
  template <class Visit>
  void for_each(Visit visit) const;

  std::shared_ptr<const StepProgram> program_;
  Projection projection_ = Projection::Up;
  int micro_batch_ = 0;
  ProjectionTensors tensors_ = {};
};

constexpr Product product_of(OperationKind kind) {
  return kind == OperationKind::Fprop   ? Product::Fprop
         : kind == OperationKind::Dgrad ? Product::Dgrad
                                        : Product::Wgrad;
}

/// What a product reads of the operand of that role.
const Value& operand_read(const Operation& product, const ProjectionTensors& tensors,
                          OperandRole role);

}  // namespace engine

#include "engine/program/projection_program.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace engine {

ProjectionProgram::ProjectionProgram(std::shared_ptr<const StepProgram> program,
                                     Projection projection, int micro_batch)
    : program_(std::move(program)),
      projection_(projection),
      micro_batch_(micro_batch),
      tensors_(tensors_of(program_->request.step, projection)) {}

template <class Visit>
void ProjectionProgram::for_each(Visit visit) const {
  const auto visit_own = [&](const std::vector<Operation>& operations) {
    for (const Operation& operation : operations) {
      if (operation.projection == projection_) visit(operation);
    }
  };
  visit_own(program_->prepare);
  for (const ProgramPart& part : program_->parts) {
    if (part.micro_batch == micro_batch_) visit_own(part.operations);
  }
}

std::vector<OperandCopies> ProjectionProgram::copies() const {
  std::vector<OperandCopies> all;
  for (const Operation& quantize : operations(OperationKind::Quantize)) {
    if (quantize.role == OperandRole::Weights && micro_batch_ > 0) continue;
    OperandCopies& made = all.emplace_back();
    made.tensor = tensors_.operand(quantize.role);
    made.role = quantize.role;
    made.layer = quantize.layer;
    made.again = quantize.again;
    for (const Value& value : quantize.writes) {
      (value.form == ValueForm::Rowwise ? made.rowwise : made.columnwise) =
          life_of(*program_, value.tensor, value.form);
    }
  }
  return all;
}

std::vector<Operation> ProjectionProgram::products() const {
  std::vector<Operation> all;
  for (const OperationKind kind :
       {OperationKind::Fprop, OperationKind::Dgrad, OperationKind::Wgrad}) {
    std::ranges::move(operations(kind), std::back_inserter(all));
  }
  std::ranges::stable_sort(all, {}, [](const Operation& product) {
    return std::tuple(product.kind != OperationKind::Fprop, product.layer);
  });
  return all;
}

std::vector<Operation> ProjectionProgram::operations(OperationKind kind) const {
  std::vector<Operation> all;
  for_each([&](const Operation& operation) {
    if (operation.kind != kind) return;
    const bool repeated = std::ranges::any_of(all, [&](const Operation& other) {
      return other.layer == operation.layer && other.role == operation.role &&
             other.again == operation.again;
    });
    if (!repeated) all.push_back(operation);
  });
  return all;
}

int ProjectionProgram::operands(OperandRole role) const {
  return traits_of(tensors_.operand(role)).shared ? 1 : program_->request.layers;
}

const Value& operand_read(const Operation& product, const ProjectionTensors& tensors,
                          OperandRole role) {
  return *std::ranges::find(product.reads, tensors.operand(role), &Value::tensor);
}

}  // namespace engine

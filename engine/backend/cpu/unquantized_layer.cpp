#include "engine/backend/cpu/unquantized_layer.h"

#include "engine/backend/cpu/product.h"
#include "engine/model/projections.h"
#include "engine/program/projection_program.h"
#include "engine/program/step_program.h"

namespace engine {
namespace {

RunRequest unquantized(RunRequest request, StepPasses passes, ElementType written) {
  request.layers = 1;
  request.recipe = {.scaling = Scaling::None, .high_precision = written};
  request.launch = {};
  request.products.passes = passes;
  request.products.accumulate_wgrad = false;
  request.products.delayed_wgrad = false;
  request.expert_layer.fused_activation = false;
  request.expert_layer.recompute_activation = false;
  request.expert_layer.mixed_recipes = false;
  return request;
}

}  // namespace

UnquantizedLayer::UnquantizedLayer(CpuExpertLayer& layer, StepPasses passes, ElementType written)
    : layer_(layer), written_(written) {
  for (const ProgramPart& part : program_of(unquantized(layer.request(), passes, written)).parts) {
    for (const Operation& operation : part.operations) {
      // Operands come as they are asked for, and no error is measured of a bias gradient.
      const OperationTraits& traits = operation.traits();
      const bool adds_bias = traits.stage == Stage::Bias && !traits.backward;
      if (traits.product || traits.by_row || adds_bias) operations_.push_back(operation);
    }
  }
}

std::int64_t UnquantizedLayer::rows(StepTensor tensor) const {
  return extent_of(layer_.request(), tensor)
      .rows_of(layer_.shape().splits[static_cast<std::size_t>(expert_)]);
}

std::int64_t UnquantizedLayer::columns(StepTensor tensor) const {
  return extent_of(layer_.request(), tensor).columns;
}

void* UnquantizedLayer::room(StepTensor tensor) {
  return memory_[static_cast<std::size_t>(tensor)].reserve(rows(tensor) * columns(tensor) *
                                                           element_bytes(written_));
}

CpuProjection& UnquantizedLayer::projection(const Operation& operation) const {
  return operation.projection == Projection::Up ? layer_.up() : layer_.down();
}

void UnquantizedLayer::multiply(const Operation& operation, const Operands& operand) {
  const StepTensor first = operation.reads[0].tensor;
  const StepTensor second = operation.reads[1].tensor;
  const StepTensor made = operation.writes.front().tensor;
  const Product which = product_of(operation.kind);
  product({.x = operand(first),
           .w = operand(second),
           .x_transposed = which == Product::Wgrad,
           .w_transposed = which != Product::Fprop,
           .m = rows(made),
           .n = columns(made),
           .k = which == Product::Wgrad ? rows(first) : columns(first),
           .y_type = written_,
           .y = room(made),
           .cancel = &layer_.context().progress.cancel});
}

void UnquantizedLayer::run(std::span<const Operation> operations, const Operands& operand) {
  for (const Operation& operation : operations) {
    const StepTensor made = operation.writes.front().tensor;
    if (operation.traits().product) {
      multiply(operation, operand);
    } else if (operation.traits().by_row) {
      layer_.compute_rows(operation, expert_, {.type = written_, .at = [this](StepTensor tensor) {
                                                 return room(tensor);
                                               }});
    } else {
      projection(operation).add_bias(0, expert_, rows(made), written_, room(made));
    }
  }
}

}  // namespace engine

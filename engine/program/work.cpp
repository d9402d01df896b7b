#include "engine/program/work.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "engine/model/projections.h"
#include "engine/model/recipe_traits.h"
#include "engine/quantize/operand_layout.h"

namespace engine {
namespace {

using kernels::Direction;

Direction direction_of(ValueForm form) {
  return form == ValueForm::Columnwise ? Direction::Columnwise : Direction::Rowwise;
}

/// Rows of the tensor for each expert; of tokens one number for all of them.
std::vector<std::int64_t> rows_of(const RunRequest& request, StepTensor tensor,
                                  std::span<const std::int64_t> splits) {
  const TensorExtent extent = extent_of(request, tensor);
  if (traits_of(tensor).tokens()) return {extent.rows};
  std::vector<std::int64_t> rows;
  for (const std::int64_t split : splits) rows.push_back(extent.rows_of(split));
  return rows;
}

std::int64_t sum_of(const std::vector<std::int64_t>& rows) {
  return std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
}

/// An expert without rows has no codes and no scales to move, and its weights are not read.
std::vector<std::int64_t> routed(std::span<const std::int64_t> splits) {
  std::vector<std::int64_t> rows;
  std::ranges::copy_if(splits, std::back_inserter(rows), [](std::int64_t m) { return m > 0; });
  return rows;
}

const Recipe& recipe_of(const RunRequest& request, Projection which, RunRequest& storage) {
  if (!is_expert_layer(request)) return request.recipe;
  storage = projection_of(request, which);
  return storage.recipe;
}

/// What a quantize pass writes: both copies of a scale per tensor have the same.
double quantized_bytes(const RunRequest& request, const Operation& operation,
                       const std::vector<std::int64_t>& rows, std::int64_t columns) {
  RunRequest storage;
  const Recipe& recipe = recipe_of(request, operation.projection, storage);
  const OperandExtent capacity{.capacity_rows = sum_of(rows),
                               .num_groups = static_cast<int>(rows.size()),
                               .columns = columns};
  std::int64_t bytes = 0;
  for (const Value& value : operation.writes) {
    const OperandLayout layout =
        operand_layout(recipe, operation.role, direction_of(value.form), capacity);
    bytes += written_code_bytes(layout, rows, columns);
    if (layout.per_tensor() && &value != &operation.writes.front()) continue;
    bytes += written_scale_bytes(layout, rows, columns);
  }
  return static_cast<double>(bytes);
}

OperationWork quantize_work(const StepProgram& program, const Operation& operation,
                            const WorkCase& routing) {
  const RunRequest& request = program.request;
  const StepTensor tensor = operation.writes.front().tensor;
  const bool weights = operation.role == OperandRole::Weights;
  const std::vector<std::int64_t> experts =
      weights ? std::vector(routing.splits.begin(), routing.splits.end()) : routed(routing.splits);
  const std::vector<std::int64_t> rows = rows_of(request, tensor, experts);
  const std::int64_t columns = extent_of(request, tensor).columns;
  OperationWork work;
  work.flop =
      static_cast<double>(sum_of(rows) * columns) * static_cast<double>(operation.writes.size());
  for (const Value& value : operation.reads) {
    work.read_bytes += static_cast<double>(value_bytes(request, value, experts));
  }
  if (sum_of(rows) * columns > 0) {
    work.written_bytes = quantized_bytes(request, operation, rows, columns);
  }
  return work;
}

OperationWork product_work(const StepProgram& program, const Operation& operation,
                           const WorkCase& routing) {
  const RunRequest& request = program.request;
  const ProjectionTensors tensors = tensors_of(request.step, operation.projection);
  const std::vector<std::int64_t> experts = routed(routing.splits);
  const double rows = static_cast<double>(sum_of(experts));
  const double n = static_cast<double>(extent_of(request, tensors.y).columns);
  const double k = static_cast<double>(extent_of(request, tensors.x).columns);
  OperationWork work{.flop = 2.0 * rows * n * k};
  for (const Value& value : operation.reads) {
    const bool copy = value.form != ValueForm::Elements;
    const Value read{
        .tensor = value.tensor,
        .form = copy && routing.emulated(operation.projection) ? ValueForm::Elements : value.form,
        .layer = value.layer};
    // Every expert has a dW, with rows or without.
    work.read_bytes += static_cast<double>(value_bytes(
        request, read, value.tensor == tensors.dw ? routing.splits : std::span(experts)));
  }
  for (const Value& value : operation.writes) {
    work.written_bytes += static_cast<double>(value_bytes(request, value, routing.splits));
  }
  return work;
}

}  // namespace

std::int64_t element_count(const RunRequest& request, StepTensor tensor,
                           std::span<const std::int64_t> splits) {
  return total_rows(request, tensor, splits) * extent_of(request, tensor).columns;
}

std::int64_t value_bytes(const RunRequest& request, const Value& value,
                         std::span<const std::int64_t> splits) {
  if (value.form == ValueForm::Elements) {
    return element_count(request, value.tensor, splits) * element_bytes(request, value.tensor);
  }
  const std::optional<TensorOperand> operand = operand_of(request.step, value.tensor);
  if (!operand) return 0;
  RunRequest storage;
  const std::vector<std::int64_t> rows = rows_of(request, value.tensor, splits);
  return copy_bytes(
      recipe_of(request, operand->projection, storage), direction_of(value.form),
      {.role = operand->role, .splits = rows, .columns = extent_of(request, value.tensor).columns});
}

OperationWork work_of(const StepProgram& program, const Operation& operation,
                      const WorkCase& routing) {
  if (operation.traits().copies) return quantize_work(program, operation, routing);
  if (operation.traits().product) return product_work(program, operation, routing);
  OperationWork work;
  for (const Value& value : operation.reads) {
    work.read_bytes += static_cast<double>(value_bytes(program.request, value, routing.splits));
  }
  for (const Value& value : operation.writes) {
    work.written_bytes += static_cast<double>(value_bytes(program.request, value, routing.splits));
  }
  return work;
}

}  // namespace engine

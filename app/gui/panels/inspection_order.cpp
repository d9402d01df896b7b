#include "app/gui/panels/inspection_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <variant>

#include "engine/model/path_text.h"
#include "engine/model/projections.h"

namespace app {
namespace {

bool is_weights(engine::StepTensor operand) {
  return operand == engine::StepTensor::WUp || operand == engine::StepTensor::WDown;
}

/// The step whose X, W or dY the operand is.
engine::RunRequest step_of(const NumericsModel& model) {
  const engine::RunRequest& effective = model.run().result.effective;
  return model.operand() == engine::StepTensor::WDown
             ? engine::projection_of(effective, engine::Projection::Down)
             : effective;
}

}  // namespace

engine::OperandRole role_of(engine::StepTensor operand) {
  return operand == engine::StepTensor::DY ? engine::OperandRole::Gradients
         : is_weights(operand)             ? engine::OperandRole::Weights
                                           : engine::OperandRole::Activations;
}

OperandSize size_of_operand(const NumericsModel& model) {
  const engine::RunRequest step = step_of(model);
  return {is_weights(model.operand()) ? step.shape.n * step.shape.num_experts : step.shape.rows,
          model.operand() == engine::StepTensor::DY ? engine::output_columns(step) : step.shape.k};
}

bool is_inspection(const engine::ComparisonRequest& request) {
  return !request.series && request.recipes.size() == 1 && request.timed_launches == 0;
}

bool is_shown_on_recipes(const engine::ComparisonRequest& request) {
  return !request.series && !request.gradients && !is_inspection(request);
}

bool has_elements(const NumericsModel& model) { return can_inspect(model) && model.quantized(); }

bool can_inspect(const NumericsModel& model) {
  return is_linear_operand(model.operand()) || model.operand() == engine::StepTensor::WDown;
}

std::optional<OperandPlace> largest_in(const engine::QuantizationSample& sample,
                                       const OperandRegion& region) {
  std::optional<OperandPlace> largest;
  float amax = -1.0F;
  for (std::size_t i = 0; i < sample.original.size(); ++i) {
    const std::int64_t row = sample.row + static_cast<std::int64_t>(i) / sample.columns;
    const std::int64_t column = sample.column + static_cast<std::int64_t>(i) % sample.columns;
    const bool inside = row >= region.row && row < region.row + region.rows &&
                        column >= region.column && column < region.column + region.columns;
    const float magnitude = std::abs(sample.original[i]);
    if (!inside || magnitude <= amax || !std::isfinite(magnitude)) continue;
    amax = magnitude;
    largest = OperandPlace{row, column};
  }
  return largest;
}

engine::ComparisonRequest inspection_order(const NumericsModel& model,
                                           const OperandRegion& region) {
  return {.request = step_of(model),
          .weights = is_weights(model.operand()),
          .gradients = model.operand() == engine::StepTensor::DY,
          .recipes = {model.recipe()},
          .sample_row = region.row,
          .sample_column = region.column,
          .sample_rows = region.rows,
          .sample_columns = region.columns,
          .timed_launches = 0,
          .only_sample = true};
}

bool inspects(const engine::ComparisonRequest& done, const NumericsModel& model) {
  engine::ComparisonRequest all = done;
  all.only_sample = true;  // earlier ones, and others' recordings, have the whole operand
  return is_inspection(done) && can_inspect(model) &&
         answers(all, inspection_order(model, {done.sample_row, done.sample_column,
                                               done.sample_rows, done.sample_columns}));
}

bool compares_operand(const RecipesModel::Comparison& one, const NumericsModel& model) {
  const engine::RecipeComparison& comparison = one->comparison;
  const engine::ComparisonRequest& done = comparison.request;
  const bool has_elements = std::ranges::any_of(
      comparison.reports,
      [](const engine::QuantizationReport& report) { return report.sample.rows > 0; });
  if (!can_inspect(model) || !is_shown_on_recipes(done) || !has_elements) return false;
  const engine::ComparisonRequest wanted = inspection_order(model, {});
  if (done.weights != wanted.weights || done.gradients != wanted.gradients) return false;
  const engine::RunRequest& a = done.request;
  const engine::RunRequest& b = wanted.request;
  const engine::OperandRole role = role_of(model.operand());
  // Only a layer from tokens has copies as its rows.
  const auto copies = [](const engine::RunRequest& request) {
    return engine::is_expert_layer(request) ? request.expert_layer.top_k : 0;
  };
  const bool same_values = a.seed == b.seed && a.shape.num_experts == b.shape.num_experts &&
                           a.shape.k == b.shape.k &&
                           engine::input_of(a, role) == engine::input_of(b, role);
  if (done.weights) return same_values && a.shape.n == b.shape.n;
  return same_values && a.shape.rows == b.shape.rows && a.routing == b.routing &&
         copies(a) == copies(b);
}

std::string origin_of_values(const NumericsModel& model) {
  const engine::ComparisonRequest order = inspection_order(model, {});
  const engine::RunRequest& request = order.request;
  const engine::InputSpec& input = engine::input_of(request, role_of(model.operand()));
  const auto* const file = std::get_if<engine::FileInput>(&input);
  std::string text =
      file != nullptr ? fmt::format("its values are read from {}", engine::shown_path(file->path))
                      : fmt::format("its values follow from seed {}", request.seed);
  if (!order.weights && request.routing.distribution == engine::RoutingDistribution::File) {
    text += fmt::format(", and which rows an expert has is read from {}",
                        engine::shown_path(request.routing.path));
  }
  return text;
}

}  // namespace app

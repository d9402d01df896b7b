// The order for elements of a run's operand: what the worker makes again and quantizes once more,
// and which comparisons answer it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/gui/panels/numerics_model.h"
#include "app/gui/panels/recipes_model.h"
#include "engine/input/tensor_source.h"

namespace app {

/// One recipe, numerics only: a request for elements, which the Recipes view ignores.
bool is_inspection(const engine::ComparisonRequest& request);
/// Whether the Recipes view shows such a comparison: not those over steps or of dY.
bool is_shown_on_recipes(const engine::ComparisonRequest& request);
/// The worker can make the model's operand again: it is an input of the step. A and dH, which an
/// expert layer computes, are not.
bool can_inspect(const NumericsModel& model);
/// It can, and they have codes.
bool has_elements(const NumericsModel& model);
struct OperandPlace {
  std::int64_t row = 0;
  std::int64_t column = 0;
};
/// The finite element of the region that is largest in magnitude, among those of the sample; none
/// where the sample has none of the region.
std::optional<OperandPlace> largest_in(const engine::QuantizationSample& sample,
                                       const OperandRegion& region);

/// Requests the elements around the region's largest element, or from its place on; only where
/// can_inspect().
engine::ComparisonRequest inspection_order(const NumericsModel& model, const OperandRegion& region);
/// Whether a comparison holds elements of the model's operand, at any position.
bool inspects(const engine::ComparisonRequest& done, const NumericsModel& model);
/// Whether the Recipes view shows elements of the model's own operand from this comparison: of the
/// same values and the same rows of every expert.
bool compares_operand(const RecipesModel::Comparison& one, const NumericsModel& model);

engine::OperandRole role_of(engine::StepTensor operand);
struct OperandSize {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};
OperandSize size_of_operand(const NumericsModel& model);
/// What the operand is made again from: "its values follow from seed 1".
std::string origin_of_values(const NumericsModel& model);

}  // namespace app

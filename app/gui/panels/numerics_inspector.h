// The elements of a run's own operand under its own recipe: ordered from the worker when a block is
// clicked, shown from whatever answers it, live or of a recording.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/gui/panels/card_layout.h"
#include "app/gui/panels/numerics_model.h"
#include "app/gui/panels/recipes_model.h"
#include "app/gui/view.h"

namespace app {

/// One recipe, numerics only: an order for elements, which the Recipes view leaves alone.
bool is_inspection(const engine::ComparisonRequest& request);
/// The elements of an operand of the run, at a row and column of it.
engine::ComparisonRequest inspection_order(const engine::RunRequest& effective, Operand operand,
                                           std::int64_t row, std::int64_t column);
/// Whether a comparison holds elements of this run's operand, wherever in it.
bool inspects(const engine::ComparisonRequest& done, const engine::RunRequest& effective,
              Operand operand);

class RunInspector {
 public:
  /// Shows the elements around this place; orders them when there is a worker to ask.
  void go_to(const PanelContext& context, const NumericsModel& model, std::int64_t row,
             std::int64_t column);
  /// Into the rest of a card.
  void draw(const PanelContext& context, const NumericsModel& model, const Area& area);
  std::string list(char separator) const;

 private:
  void follow(const PanelContext& context, const NumericsModel& model);
  void draw_controls(const PanelContext& context, const NumericsModel& model);
  void draw_arithmetic(const PanelContext& context, const NumericsModel& model, const Area& area);
  void draw_nothing(const PanelContext& context, const NumericsModel& model, const Area& area);

  std::int64_t row_ = 0;
  std::int64_t column_ = 0;
  int field_ = 1;
  int picked_row_ = 0;
  int picked_column_ = 0;
  RecipesModel::Comparison shown_;  // null = none
  std::uint64_t generation_ = 0;    // of the model that shown_ answers
  std::size_t seen_ = 0;            // comparisons that were looked through
  RecipeOverlay overlay_;
};

}  // namespace app

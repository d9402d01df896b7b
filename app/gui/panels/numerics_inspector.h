// The elements of a run's own operand under its own recipe: requested from the worker when a block
// is clicked, and shown from any comparison that has them, live or recorded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/gui/cards/card_layout.h"
#include "app/gui/controls/panel_context.h"
#include "app/gui/panels/numerics_model.h"
#include "app/gui/panels/recipes_model.h"

namespace app {

/// One recipe, numerics only: a request for elements, which the Recipes view ignores.
bool is_inspection(const engine::ComparisonRequest& request);
/// Requests the elements of an operand of the run at a row and column.
engine::ComparisonRequest inspection_order(const engine::RunRequest& effective, Operand operand,
                                           std::int64_t row, std::int64_t column);
/// Whether a comparison holds elements of this run's operand, at any position.
bool inspects(const engine::ComparisonRequest& done, const engine::RunRequest& effective,
              Operand operand);

class RunInspector {
 public:
  /// Shows the elements around this position; requests them if there is a worker.
  void go_to(const PanelContext& context, const NumericsModel& model, std::int64_t row,
             std::int64_t column);
  /// Draws into the rest of a card.
  void draw(const PanelContext& context, const NumericsModel& model, const Area& area);
  /// Tab-separated.
  std::string list() const;

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
  std::uint64_t generation_ = 0;    // of the model that shown_ belongs to
  std::size_t seen_ = 0;            // number of comparisons already searched
  RecipeOverlay overlay_;
};

}  // namespace app

// The elements of a sample: where it is in the operand, its cells as a grid of text, and the
// inspector of a run, which requests the elements of the run's own operand under its own recipe and
// shows them from any comparison that has them, live or recorded.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/cards/card_layout.h"
#include "app/gui/controls/panel_context.h"
#include "app/gui/panels/inspection_order.h"
#include "app/gui/panels/numerics_model.h"
#include "app/gui/panels/recipes_model.h"

namespace app {

enum class CellField { Original, Code, Bits, Scale, Decoded, Error, Ulp };

/// Names of the fields, in order.
const std::vector<std::string>& cell_fields();

/// One row per element of the samples; they must outlive the table.
profiling::Table elements_table(std::span<const RecipeOverlay> overlays);

/// What of a sample is shown; the picked element stays when the pointer leaves.
struct SampleView {
  int field = static_cast<int>(CellField::Code);
  int picked_row = 0;  // in the sample
  int picked_column = 0;
  bool to_picked = false;  // the grid scrolls there once, if the element is out of view

  void pick(int row, int column) {
    picked_row = row;
    picked_column = column;
    to_picked = true;
  }
};

/// The number fields for the first row and column of a sample.
struct SamplePosition {
  const char* row_id;
  const char* column_id;
  const char* column_label;
  float width;        // of each, in grid pixels
  const char* map;    // which map sets both on a click
  const char* fixed;  // why it cannot be moved; empty = it can
  std::int64_t rows;  // of the operand
  std::int64_t columns;
};
/// True when the user has moved the sample.
bool draw_sample_position(const PanelContext& context, const SamplePosition& position,
                          std::int64_t& row, std::int64_t& column);

/// Moves the picked element to the one under the mouse. `id` names the grid in the control map.
void draw_sample_cells(const PanelContext& context, const char* id, const RecipeOverlay& overlay,
                       const Area& area, SampleView& view);

/// What the inspector says where it has no elements to show.
struct EmptyElements {
  const char* title = "";
  std::string sentence;
  enum Button { None, Inspect, Recipes } button = None;
};

class RunInspector {
 public:
  /// Shows the elements around the region's largest element, which is picked; requests them if
  /// there is a worker, and leaves a recording on screen.
  void go_to(const PanelContext& context, const NumericsModel& model, const OperandRegion& region);
  /// Draws into the rest of a card. Once an element was chosen, those around it are requested from
  /// every run on screen.
  void draw(const PanelContext& context, const NumericsModel& model, const Area& area);
  profiling::Table list() const;

  /// A comparison of recipes that the user wants to see instead, and the element to show of it.
  struct WantedRecipes {
    RecipesModel::Comparison comparison;
    std::int64_t row = 0;
    std::int64_t column = 0;
  };
  std::optional<WantedRecipes> take_recipes() { return std::exchange(wanted_recipes_, {}); }

 private:
  /// A worker can be asked, also for elements of a recorded run: they are made again here.
  static bool can_ask(const SessionView& view);
  static RecipesModel::Comparison found_in(const SessionView& view, const NumericsModel& model);
  EmptyElements why_nothing(const SessionView& view, const NumericsModel& model) const;
  void follow(const PanelContext& context, const NumericsModel& model);
  void show(const PanelContext& context, const NumericsModel& model);
  void draw_controls(const PanelContext& context, const NumericsModel& model);
  void draw_arithmetic(const PanelContext& context, const NumericsModel& model, const Area& area);
  void draw_nothing(const PanelContext& context, const NumericsModel& model, const Area& area);

  /// The chosen element, in the sample on screen.
  void pick_element();
  /// The sample on screen has all of the searched region.
  bool holds_region() const;
  void choose_largest(const engine::QuantizationSample& sample);
  void keep_element();
  bool holds_element() const;
  void ask_again(const PanelContext& context, const NumericsModel& model);

  // The element that was chosen; it stays so, whether the run on screen has it or not.
  bool chosen_ = false;
  std::int64_t row_ = 0;
  std::int64_t column_ = 0;
  OperandRegion searched_;       // whose largest element is to be chosen once it is known
  bool waiting_ = false;         // for its elements
  std::uint64_t asked_for_ = 0;  // generation of the model that they were requested for
  SampleView view_;
  RecipesModel::Comparison shown_;   // null = none
  std::uint64_t generation_ = 0;     // of the model that shown_ belongs to
  RecipesModel::Comparison newest_;  // of the comparisons already searched
  RecipesModel::Comparison newest_live_;
  std::optional<WantedRecipes> wanted_recipes_;
  RecipeOverlay overlay_;
};

}  // namespace app

// The Recipes view of the Numerics page: every recipe on the same operand, side by side. A table
// with one row per recipe; below it up to three of them are overlaid, element by element or expert
// by expert.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "app/gui/cards/card_board.h"
#include "app/gui/panels/element_inspector.h"
#include "app/gui/panels/order_bar.h"
#include "app/gui/panels/recipes_model.h"
#include "app/gui/plot/heatmap_plot.h"
#include "app/gui/plot/sorted_table.h"

namespace app {

class RecipesView {
 public:
  /// The page uses the first `taken_left` pixels of the first row.
  void draw(const PanelContext& context, const Area& area, float taken_left);
  /// Shows all cards again, if one fills the view.
  bool close_front() { return board_.restore(); }
  /// A comparison of the recording on screen, with that element if its sample has it.
  void show(const RecipesModel::Comparison& comparison, std::int64_t row, std::int64_t column);
  /// What is shown, in one line.
  PageSubject subject() const;
  /// Why all recipes cannot be compared now; empty = they can.
  static std::string refusal(const SessionView& view);

 private:
  // recipes_view.cpp
  void follow(const PanelContext& context);
  engine::ComparisonRequest wanted(const PanelContext& context) const;
  /// Returns where they end, including a small gap.
  float draw_controls(const PanelContext& context, const Area& area);
  void draw_status(const PanelContext& context, const Area& area) const;
  /// The tensor and the machine of the comparison that is shown.
  std::string shown_text() const;
  void draw_nothing(const PanelContext& context, const Area& area);
  void draw_content(const PanelContext& context, const Area& area);
  CardSpec table_card(const PanelContext& context);
  void take_choice(const PanelContext& context);
  std::vector<CardBoard::MakeCard> cards(const PanelContext& context);
  void draw_pairs(const PanelContext& context);
  // recipes_plots.cpp
  CardSpec values_card(const PanelContext& context);
  CardSpec scales_card(const PanelContext& context);
  CardSpec codes_card(const PanelContext& context);
  EmptyState none_chosen() const;
  CardSpec maps_card(const PanelContext& context);
  void draw_maps(const PanelContext& context, const Area& room);
  void draw_map(const PanelContext& context, const Area& area, std::size_t index);
  CardSpec elements_card(const PanelContext& context);
  void draw_elements(const PanelContext& context);
  void draw_sample_controls(const PanelContext& context);
  void draw_arithmetic(const PanelContext& context, const Area& area);
  // recipes_experts.cpp
  CardSpec snr_card(const PanelContext& context);
  CardSpec waste_card(const PanelContext& context);
  CardSpec experts_card(const PanelContext& context);
  CardTable experts_table();
  EmptyState no_experts() const;
  void draw_experts(const PanelContext& context, ImVec2 size, bool snr);
  /// Shows the elements around the region's largest element, or from its place on.
  void go_to(const PanelContext& context, const OperandRegion& region);
  /// The one that the comparison on screen was asked for.
  void pick_largest(const OperandRegion& region);
  /// Marks the element, if the sample has it.
  void show_element(const engine::QuantizationReport& report, const OperandPlace& place);

  RecipesModel model_;
  CardBoard board_;
  bool shown_ = false;  // there is a comparison of the operand
  /// What the model was derived from last.
  struct Followed {
    RecipesModel::Comparison comparison;
    bool columnwise = false;
    ThemeKind theme = ThemeKind::Dark;
    bool operator==(const Followed&) const = default;
  };
  Followed followed_;
  /// Those of the operand, oldest first, and which of them a recording shows.
  std::vector<RecipesModel::Comparison> recorded_;
  RecipesModel::Comparison picked_;
  int operand_ = 0;
  int direction_ = 0;
  bool by_expert_ = false;  // what is below the table
  bool lost_ = false;       // of the SNR, instead of the SNR itself
  bool log_counts_ = true;
  Orders<engine::ComparisonRequest> orders_;
  OperandRegion wanted_sample_;
  plot::TableState table_{.most_chosen = kMostOverlaid};
  std::size_t chosen_of_ = 0;  // rows that the choice was made of
  plot::TableState experts_table_;
  plot::PlotView snr_view_;
  plot::PlotView waste_view_;
  plot::PlotView value_view_;
  plot::PlotView scale_view_;
  plot::PlotView code_view_;
  std::array<plot::HeatmapState, kMostOverlaid> maps_;
  SampleView sample_;
  std::size_t cell_recipe_ = 0;
};

}  // namespace app

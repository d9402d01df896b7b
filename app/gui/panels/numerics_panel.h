// Numerics: what the recipe does to the numbers of one operand and to the product of every expert,
// all recipes on the same operand, once or over steps, and the tensors of an expert layer.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "app/gui/cards/card_board.h"
#include "app/gui/cards/page.h"
#include "app/gui/panels/channels_view.h"
#include "app/gui/panels/element_inspector.h"
#include "app/gui/panels/layer_view.h"
#include "app/gui/panels/numerics_model.h"
#include "app/gui/panels/recipe_steps_view.h"
#include "app/gui/panels/recipes_view.h"
#include "app/gui/plot/heatmap_plot.h"
#include "app/gui/plot/histogram_plot.h"

namespace app {

class NumericsPanel : public PagePanel {
 public:
  NumericsPanel();
  void draw(const PanelContext& context, ImVec2 size) override;
  bool tick() override { return view_ == kSteps && steps_.tick(); }
  void select(const Selection& selection) override { wanted_ = selection; }
  Selection selected() const override;
  bool close_front() override;
  std::optional<PageSubject> subject() const override;
  std::string refusal(const SessionView& view, std::string_view /*button*/) override {
    return RecipesView::refusal(view);
  }

 private:
  /// Indices of view_.
  enum View { kRun, kRecipes, kSteps, kLayer, kChannels };
  void follow_run(const PanelContext& context);
  /// Returns how much of the first row it takes; `area` begins at that row.
  float draw_view_choice(const PanelContext& context, Area& area);
  void draw_run(const PanelContext& context, const Area& area, float taken_left);
  void draw_channels(const PanelContext& context, const Area& area, float taken_left);
  void draw_figures(const PanelContext& context, float width);
  float operand_selector_width(const Theme& theme) const;
  void draw_operand_selector(const PanelContext& context, float width);
  void draw_cards(const PanelContext& context, const Area& area);
  static CardPlan plan(const Theme& theme, ImVec2 size);
  EmptyState no_scales(const char* what) const;
  std::string why_no_amax() const;
  void draw_linked(const PanelContext& context, const plot::HistogramSpec& spec,
                   const std::vector<plot::HistogramSeries>& series, plot::PlotView& view,
                   const std::vector<plot::PlotView*>& same,
                   const std::vector<plot::PlotView*>& other);
  // numerics_value_cards.cpp
  CardSpec values_card(const PanelContext& context);
  void draw_values(const PanelContext& context, const Area& room);
  CardSpec scales_card(const PanelContext& context);
  void draw_scales(const PanelContext& context, const Area& room);
  void follow_selection();
  CardSpec selection_card(const PanelContext& context);
  void draw_selection(const PanelContext& context, const Area& room) const;
  std::string selection_value() const;
  // numerics_map_card.cpp
  CardSpec map_card(const PanelContext& context);
  void draw_map(const PanelContext& context, const Area& room);
  void draw_map_layers(const PanelContext& context);
  void inspect_at(const PanelContext& context, const plot::HeatmapHover& hover);
  void draw_map_read_out(const PanelContext& context, const plot::HeatmapHover& hover) const;
  // numerics_error_cards.cpp
  CardSpec snr_card(const PanelContext& context);
  void draw_snr(const PanelContext& context, ImVec2 size);
  std::string snr_value(int selected) const;
  std::string scales_in_selection(int expert) const;
  std::string selected_note(int expert) const;
  CardSpec errors_card(const PanelContext& context);

  RecipesView recipes_;
  RecipeStepsView steps_;
  LayerView layer_;
  ChannelsView channels_;
  NumericsModel model_;
  CardBoard board_;
  bool has_run_ = false;
  /// What the model was derived from last.
  struct Followed {
    std::uint64_t run = 0;
    engine::StepTensor operand = engine::StepTensor::X;
    engine::Product product = engine::Product::Fprop;
    ThemeKind theme = ThemeKind::Dark;
    bool operator==(const Followed&) const = default;
  };
  std::optional<Followed> followed_;
  engine::StepTensor operand_ = engine::StepTensor::X;
  int product_ = 0;  // the engine::Product whose error is shown
  bool log_counts_ = true;
  plot::PlotView value_view_;        // of the values
  plot::PlotView amax_view_;         // the same selection, a range of magnitudes
  plot::PlotView scale_view_;        // the axis of amax, a selection of its own
  std::optional<Selection> wanted_;  // until a run is on screen
  std::optional<ValueSelection> selection_;
  std::uint64_t selection_generation_ = 0;  // of the model it was made from
  plot::PlotView snr_view_;
  plot::HeatmapState map_state_;
  int lower_ = 0;  // 0 = experts, 1 = elements
  RunInspector inspector_;
  plot::TableState table_;
  StaleVeil veil_;
};

}  // namespace app

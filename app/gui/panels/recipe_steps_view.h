// Recipes over steps: delayed scaling step by step beside current scaling, with an injected outlier
// and an expert that has no rows for some steps. Dragging over a plot, the arrow keys and Play move
// the step.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "app/gui/cards/card_board.h"
#include "app/gui/panels/order_bar.h"
#include "app/gui/panels/recipe_steps_model.h"
#include "app/gui/plot/heatmap_plot.h"

namespace app {

class RecipeStepsView {
 public:
  /// The page uses the first `taken_left` pixels of the first row.
  void draw(const PanelContext& context, const Area& area, float taken_left);
  /// Shows all cards again, if one fills the view.
  bool close_front() { return board_.restore(); }
  /// What is shown, in one line.
  PageSubject subject() const;
  /// While playing: true when the next step is due.
  bool tick();

 private:
  using Recorded = RecipeStepsModel::Comparison;
  /// Two figures over the steps of an expert, and the card that shows them.
  struct Steps {
    const char* id;
    const char* title;
    const char* question;
    const char* note;
    const char* control;
    const char* label;  // of the control
    const char* plot_id;
    const char* axis;
    RecipeStepsModel::Figure first;   // solid
    RecipeStepsModel::Figure second;  // dim
  };
  struct PointLine {
    std::string label;
    std::string value;
    bool bad;
  };
  void follow(const PanelContext& context);
  void show(const PanelContext& context, const Recorded& found);
  engine::ComparisonRequest wanted(const PanelContext& context) const;
  void set_idle();
  void move_by_keys(const PanelContext& context);
  float draw_controls(const PanelContext& context, const Area& area, float taken_left);
  void draw_choice(const PanelContext& context, controls::Flow& flow);
  void draw_settings(const PanelContext& context, controls::Flow& flow);
  void draw_status(const PanelContext& context, const Area& area);
  std::string shown_text() const;
  void draw_nothing(const PanelContext& context, const Area& area);
  CardSpec steps_card(const PanelContext& context, const Steps& steps);
  void draw_scrubbed(const PanelContext& context, const Area& area, const Steps& steps);
  CardSpec point_card(const PanelContext& context);
  std::vector<PointLine> point_lines() const;
  void draw_point(const PanelContext& context, const Area& room) const;
  CardSpec history_card(const PanelContext& context);
  void draw_history(const PanelContext& context, const Area& room,
                    const std::vector<double>& history) const;
  CardSpec experts_card(const PanelContext& context);
  void draw_experts(const PanelContext& context, ImVec2 size);

  RecipeStepsModel model_;
  CardBoard board_;
  bool shown_ = false;
  std::vector<Recorded> listed_;  // all over steps, oldest first
  Recorded recorded_;             // the one that is shown
  Recorded chosen_;               // null = the newest
  Recorded newest_;               // the newest when one was chosen
  bool settled_ = false;          // the first request has set the settings
  RecipeStepsSettings settings_;
  int idle_expert_ = -1;  // -1 = none
  int idle_from_ = 12;
  int idle_to_ = 15;
  Orders<engine::ComparisonRequest> orders_;
  int step_ = 0;
  int expert_ = 0;
  bool playing_ = false;
  std::chrono::steady_clock::time_point played_at_{};
  plot::PlotView view_;  // shared by the plots over steps
  plot::HeatmapState experts_state_;
};

}  // namespace app

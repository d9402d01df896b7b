// Replays compared node by node, and whether every replay equals the eager run.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "app/gui/cards/card.h"
#include "app/gui/cards/card_layout.h"
#include "app/gui/controls/panel_context.h"
#include "app/gui/panels/graphs_model.h"
#include "app/gui/panels/numerics_model.h"
#include "app/gui/plot/heatmap_plot.h"
#include "app/gui/plot/plot_frame.h"
#include "app/gui/plot/sorted_table.h"

namespace app {

class ReplaysView {
 public:
  explicit ReplaysView(const std::function<void()>& wake) : model_(wake) {}
  bool tick();
  /// Draws at the cursor, using the whole of `size`.
  void draw(const PanelContext& context, ImVec2 size);

 private:
  void follow_run(const PanelContext& context);
  void draw_figures(const PanelContext& context, float width);
  void draw_cards(const PanelContext& context, const Area& area);
  void draw_no_graph(const PanelContext& context, ImVec2 size);
  void draw_matrix(const PanelContext& context, const Area& area);
  void draw_matrix_read_out(const PanelContext& context, const plot::HeatmapHover& hover) const;
  void draw_nodes(const PanelContext& context, const Area& area);
  void draw_series(const PanelContext& context, const Area& area);
  void draw_checks(const PanelContext& context, const Area& area);
  std::string matrix_list(char separator) const;
  /// Replays count from 1, as the checks do; eager iterations from 0, as the records do.
  int first_number() const { return model_.has_graph() ? 1 : 0; }
  const char* iteration_noun() const { return model_.has_graph() ? "replay" : "iteration"; }

  GraphsModel model_;
  bool has_run_ = false;
  std::chrono::steady_clock::time_point pulse_{};  // of the last frame requested while deriving
  int scale_ = 0;
  plot::HeatmapState matrix_state_;
  plot::PlotView series_view_;
  plot::PlotView check_view_;
  plot::TableState table_;
  StaleVeil veil_;
};

}  // namespace app

// Replays compared node by node, and whether every replay equals the eager run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "app/gui/cards/card_board.h"
#include "app/gui/panels/graphs_model.h"
#include "app/gui/plot/heatmap_plot.h"

namespace app {

class ReplaysView {
 public:
  explicit ReplaysView(const std::function<void()>& wake) : model_(wake) {}
  bool tick();
  /// Draws at the cursor, using the whole of `size`.
  void draw(const PanelContext& context, ImVec2 size);
  /// Whether the table of nodes is of this run: it follows where it is drawn, and takes its time.
  bool shows(const profiling::RecordedRun& run) const;
  /// Id of the graph node that is chosen in the table of nodes, as in GraphNode; 0 = none.
  std::uint64_t chosen_node() const;
  /// Chooses that node; none if the run on screen has no such.
  void choose_node(std::uint64_t id);
  /// Shows all cards again, if one fills the view.
  bool close_front() { return board_.restore(); }

 private:
  void follow_run(const PanelContext& context);
  void draw_figures(const PanelContext& context, float width);
  void draw_cards(const PanelContext& context, const Area& area);
  void draw_no_graph(const PanelContext& context, ImVec2 size);
  CardSpec matrix_card(const PanelContext& context);
  void draw_matrix(const PanelContext& context, ImVec2 size);
  void draw_matrix_read_out(const PanelContext& context, const plot::HeatmapHover& hover) const;
  profiling::Table matrix_list() const;
  CardSpec nodes_card();
  CardSpec checks_card(const PanelContext& context);

  GraphsModel model_;
  CardBoard board_;
  bool has_run_ = false;
  WorkPulse pulse_;
  int scale_ = 0;
  plot::HeatmapState matrix_state_;
  plot::PlotView series_view_;
  plot::PlotView check_view_;
  plot::TableState table_;
  StaleVeil veil_;
};

}  // namespace app

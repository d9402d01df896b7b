// The graph doctor's workspace, in the order in which it is read: what to examine, the conclusion
// or what is in progress, the cure, the findings with their evidence, the experiments.
#pragma once

#include <string>
#include <vector>

#include "app/gui/cards/card.h"
#include "app/gui/cards/card_board.h"
#include "app/gui/controls/panel_context.h"
#include "app/gui/doctor/cure_view.h"
#include "app/gui/doctor/examine_bar.h"
#include "app/gui/doctor/finding_view.h"
#include "app/gui/graph/graph_scene.h"
#include "app/gui/plot/drawn_table.h"

namespace app {

class DoctorView {
 public:
  /// A gallery case chosen in the bar is explained until a finding is chosen.
  void draw(const PanelContext& context, const Area& area, GraphScene& scene);
  /// Shows all cards again; false if none fills the view.
  bool close_front() { return case_drawn_ ? case_board_.restore() : board_.restore(); }
  /// The recorded visit to its first case.
  void show_gallery(const PanelContext& context) { bar_.show_gallery(context); }

 private:
  void draw_cards(const PanelContext& context, const Area& cards, GraphScene& scene);
  CardSpec state_card(const PanelContext& context, GraphScene& scene);
  void draw_conclusion(const PanelContext& context, ImVec2 room, const GraphScene& scene);
  void draw_nothing_examined(const PanelContext& context, const std::string& why);
  void draw_visit_progress(const PanelContext& context, ImVec2 room, GraphScene& scene);
  CardSpec experiments_card(const PanelContext& context, const GraphScene& scene);
  CardSpec proof_card(const PanelContext& context, const GraphScene& scene);
  void follow(const PanelContext& context, const GraphScene& scene);

  ExamineBar bar_;
  CureView cure_;
  FindingView findings_;
  CardBoard board_;
  CardBoard case_board_;  // where a case of the gallery is explained, instead of cure and evidence
  bool case_drawn_ = false;  // the board on screen is `case_board_`
  plot::TableState table_;
  plot::DrawnTable experiments_;
  std::uint64_t shown_ = 0;
  // When a node last finished, to measure how long a replay has stalled.
  int done_ = -1;
  int replay_ = -1;
  double moved_at_ = 0.0;
};

}  // namespace app

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
#include "app/gui/doctor/report_sources.h"
#include "app/gui/doctor/symptom_view.h"
#include "app/gui/graph/graph_scene.h"
#include "app/gui/plot/drawn_table.h"

namespace app {

class DoctorView {
 public:
  /// In the gallery, questions lead from a symptom to a case, which is explained until a finding of
  /// a visit to it is chosen. Reports about another subject than the case are not shown beside it.
  /// A listed report about a newly chosen case is put on screen.
  void draw(const PanelContext& context, const Area& area, GraphScene& scene,
            ReportSources& sources);
  /// What is chosen in the gallery, where the report of `scene` is not about it: then none is
  /// shown. Empty: the report is shown.
  std::string unexamined(const GraphScene& scene) const;
  /// Shows all cards again; false if none fills the view.
  bool close_front();
  /// The recorded visit to the chosen case of the gallery, else to its first.
  void show_gallery(const PanelContext& context);
  /// A report was put on screen, by the user or because it is new: chooses its subject.
  void follow(const profiling::DoctorReport& report);

 private:
  /// The scene, or one without a report if it shows another subject than the chosen case.
  GraphScene& examined(GraphScene& scene);
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
  SymptomView symptoms_;
  GraphScene unexamined_{[] {}};  // never shows a report
  CardBoard board_;
  CardBoard case_board_;  // where a case of the gallery is explained, instead of cure and evidence
  CardBoard hung_board_;  // of a report with a hung replay, which has a card more
  bool case_drawn_ = false;  // the board on screen is `case_board_`
  bool hung_drawn_ = false;  // else, it is `hung_board_`
  plot::TableState table_;
  plot::DrawnTable experiments_;
  std::uint64_t shown_ = 0;
  ThemeKind theme_ = ThemeKind::Dark;  // whose colours the rows of `experiments_` have
  std::string shown_subject_;
  // When a node last finished, to measure how long a replay has stalled.
  int done_ = -1;
  int replay_ = -1;
  double moved_at_ = 0.0;
};

}  // namespace app

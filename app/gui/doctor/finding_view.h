// The findings of a report and the chosen one in full: why, where, the evidence, how to fix it in
// each library.
#pragma once

#include <optional>
#include <string>

#include "app/gui/cards/card_layout.h"
#include "app/gui/controls/panel_context.h"
#include "app/gui/doctor/examine_bar.h"
#include "app/gui/graph/graph_scene.h"

namespace app {

/// Indices, in the report's experiments, of the experiment that shows a finding's fault and of the
/// one that removes it; -1 = not run.
struct ProofRecords {
  int shows = -1;
  int cures = -1;
};
ProofRecords records_of(const profiling::DoctorReport& report, int finding);

class FindingView {
 public:
  /// Draw separate cards.
  void draw_list(const PanelContext& context, const Area& area, GraphScene& scene);
  void draw_chosen(const PanelContext& context, const Area& area, GraphScene& scene,
                   const ExamineBar& bar);
  /// The gallery's own description of a case, while no report is shown.
  void draw_case(const PanelContext& context, const Area& area, const profiling::HazardCase& one,
                 bool healthy);

 private:
  void draw_entry(const PanelContext& context, GraphScene& scene, int index);
  void draw_finding(const PanelContext& context, GraphScene& scene,
                    const profiling::Finding& finding, const ExamineBar& bar);
  void draw_fix(const PanelContext& context, const profiling::Finding& finding);
  /// The button that fetches a cuBLASLt, and the state of the download.
  void draw_fetch(const PanelContext& context, const std::string& version);
  void draw_nodes(const PanelContext& context, GraphScene& scene,
                  const profiling::Finding& finding);

  int library_ = 0;
};

/// A filled label: "proved", "likely", ... Advances the cursor on the same line.
void confidence_chip(const PanelContext& context, profiling::Confidence confidence);

}  // namespace app

// The findings of a report, and the evidence for the chosen one: why, where, and how it is proved.
#pragma once

#include <optional>
#include <string>

#include "app/gui/cards/card.h"
#include "app/gui/controls/panel_context.h"
#include "app/gui/doctor/examine_bar.h"
#include "app/gui/graph/graph_scene.h"

namespace app {

class FindingView {
 public:
  // What is given outlives the card.
  CardSpec list_card(const PanelContext& context, GraphScene& scene);
  CardSpec chosen_card(const PanelContext& context, GraphScene& scene, const ExamineBar& bar);
  /// The gallery's own description of a case, while no report is shown.
  CardSpec case_card(const PanelContext& context, const profiling::HazardCase& one, bool healthy);

 private:
  void draw_entry(const PanelContext& context, GraphScene& scene, int index);
  void draw_finding(const PanelContext& context, GraphScene& scene,
                    const profiling::Finding& finding, const ExamineBar& bar);
  /// The button that fetches a cuBLASLt, and the state of the download.
  void draw_fetch(const PanelContext& context, const std::string& version);
  void draw_prove(const PanelContext& context, const GraphScene& scene,
                  const profiling::Finding& finding, const ExamineBar& bar);
  /// In its place where nothing can prove: a finding of an attached program.
  void draw_gallery_case(const PanelContext& context, const profiling::Finding& finding);
  void draw_nodes(const PanelContext& context, GraphScene& scene,
                  const profiling::Finding& finding);
};

/// A filled label: "proved", "likely", ... Advances the cursor on the same line.
void confidence_chip(const PanelContext& context, profiling::Confidence confidence);

}  // namespace app

// Performance: where the time of the step goes. Everything below the timeline follows its selected
// range.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "app/gui/panels/card.h"
#include "app/gui/panels/card_layout.h"
#include "app/gui/panels/performance_model.h"
#include "app/gui/panels/time_notes.h"

namespace app {

class PerformancePanel : public WorkspacePanel {
 public:
  explicit PerformancePanel(const std::function<void()>& wake) : model_(wake) {}
  bool tick() override;
  void draw(const PanelContext& context, ImVec2 size) override;

 private:
  void follow_run(const PanelContext& context);
  void draw_figures(const PanelContext& context, float width);
  std::string range_note() const;
  // performance_timeline_card.cpp
  void draw_timeline_card(const PanelContext& context, const Area& area);
  void draw_stage_sums(const PanelContext& context, float width);
  // performance_experts_card.cpp
  void draw_experts(const PanelContext& context, const Area& area);
  std::string experts_text(char separator) const;
  // performance_kernel_cards.cpp
  void draw_kernels(const PanelContext& context, const Area& area);
  void draw_iterations(const PanelContext& context, const Area& area);
  void draw_row_histogram(const PanelContext& context, const Area& area);

  PerformanceModel model_;
  bool has_run_ = false;
  std::chrono::steady_clock::time_point pulse_{};  // of the last frame asked for while deriving
  plot::PlotView timeline_view_;
  TimeNotes notes_;
  plot::PlotView expert_view_;
  plot::PlotView iteration_view_;
  plot::PlotView row_view_;
  plot::TableState table_;
  StaleVeil veil_;
};

}  // namespace app

// A routing recorded over several steps, as the run replayed it: time, imbalance and SNR of every
// step in a strip that mouse and arrow keys scrub, a table with the slowest first, and the rows of
// the step that is chosen.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/gui/cards/card.h"
#include "app/gui/plot/bar_plot.h"
#include "app/gui/plot/drawn_table.h"
#include "profiling/power/ranked_steps.h"
#include "profiling/session/session_file.h"

namespace app {

class RecordedStepsCards {
 public:
  /// Before the cards are made. False: the run's routing is from no file, and there is nothing to
  /// show.
  bool follow(const PanelContext& context, const profiling::RecordedRun& run,
              std::uint64_t generation);
  CardSpec strip(const PanelContext& context);
  CardSpec table();
  CardSpec step(const PanelContext& context);

 private:
  const std::vector<engine::RecordedStep>& steps() const { return ranked_->recorded.steps; }
  int count() const { return static_cast<int>(steps().size()); }
  const engine::RecordedStep& chosen() const;
  void choose(int index);
  bool is_slow(std::size_t index) const;
  EmptyState nothing() const;
  std::string strip_note() const;
  void draw_strip(const PanelContext& context, const Area& room);
  void draw_strip_read_out(const PanelContext& context, int index) const;
  std::string step_note() const;
  void draw_step(const PanelContext& context, const Area& room);

  /// "12.3 us (n 1 of 2)", "not run", "throttled".
  std::string time_text(int index) const;

  std::shared_ptr<const profiling::RankedSteps>
      ranked_;  // of the run on screen; null = no routing file
  std::uint64_t generation_ = 0;
  bool backward_ = false;
  bool skip_throttled_ = false;
  int chosen_ = 0;  // index into the steps
  plot::DrawnTable drawn_;
  ThemeKind rows_theme_ = ThemeKind::Dark;
  plot::TableState table_;
  plot::PlotView strip_view_;
  plot::PlotView step_view_;
};

}  // namespace app

// The durations of a run's iterations, which the Performance and the Replays page both show.
#pragma once

#include "app/gui/cards/card.h"
#include "app/gui/plot/iteration_words.h"
#include "app/gui/plot/series_plot.h"
#include "profiling/power/step_times.h"
#include "profiling/session/session_file.h"
#include "profiling/trace/statistics.h"

namespace app {

/// Durations of the timed iterations.
struct IterationSeries {
  plot::FoldedSeries ns;
  profiling::StepTimes times;
  profiling::Distribution all;
  profiling::Distribution counted;  // without the throttled ones

  const profiling::Distribution& time(bool skip_throttled) const {
    return skip_throttled ? counted : all;
  }
};
IterationSeries iteration_series(const profiling::RecordedRun& run);

/// What the pages call it, and the run that it is about. All must outlive the card.
struct IterationsCard {
  const char* id = "";
  const char* title = "";
  const char* question = "";
  const char* plot_id = "";
  const char* control = "";
  const char* label = "";  // of the control
  bool replays = false;    // of a graph: they count from 1, as the checks do
  const profiling::RecordedRun& run;
  const IterationSeries& series;
  std::uint64_t generation = 0;  // identifies the series
  plot::PlotView& view;
};
CardSpec iterations_card(const PanelContext& context, const IterationsCard& card);

}  // namespace app

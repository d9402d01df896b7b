// What a run recorded about one event of the timeline, line by line, and the panel that shows it. A
// value that was not recorded is shown with the reason, never as zero.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/gui/cards/card_layout.h"
#include "app/gui/controls/panel_context.h"
#include "app/gui/plot/timeline_plot.h"
#include "profiling/document/work_labels.h"
#include "profiling/session/session_file.h"
#include "profiling/trace/host_launch.h"
#include "profiling/trace/stamped_spans.h"

namespace app {

struct DetailLine {
  std::string label;
  std::string value;
  bool recorded = true;  // false = the value says why it is not known
};

struct EventDetails {
  std::string title{};
  std::vector<DetailLine> lines{};
  std::optional<profiling::HostLaunch> launch{};  // where an arrow to the record begins
};

/// Visits all host events. The event must be one of the run's, whose names and stamped launches
/// these are.
EventDetails details_of(const profiling::RecordedRun& run, const plot::TimelineEvent& event,
                        const profiling::WorkLabels& names, const profiling::StampedSpans& stamped);
/// The title, then a line each: label, tab, value.
std::string details_text(const EventDetails& details);

/// True when the user closes it.
bool draw_details(const PanelContext& context, const Area& area, const EventDetails& details);

}  // namespace app

// The window's three strips: the bar on top, the headline figures, the status bar below; and the
// help overlay. Each draws into the current ImGui window and returns what was wished.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/shell/keys.h"
#include "app/gui/shell/recent_files.h"
#include "app/gui/view.h"
#include "profiling/trace/statistics.h"

namespace app {

struct NamedTour {
  std::string title;
  std::string path;
};

struct TopBarState {
  Workspace workspace = Workspace::Performance;
  bool recording = false;
  std::string recording_path;
  std::size_t recorded_runs = 0;
  std::size_t live_runs = 0;
  const std::vector<std::string>& run_names;  // of SessionView::runs
  std::vector<RecentFile> recent{};
  std::vector<NamedTour> tours{};
};
struct TopBarWishes {
  std::optional<Action> action;
  std::optional<std::size_t> select_run;
  std::optional<std::string> open_recent;
  std::optional<std::string> play_tour;  // its path
  bool check_recent = false;             // the list is about to be shown
};
TopBarWishes draw_top_bar(const PanelContext& context, const TopBarState& state);

/// Of the timed iterations: made once a run, which may have a hundred thousand of them.
profiling::Distribution step_time_ns(const engine::RunResult& result);
/// Only measured values, each with its method as tooltip. `step_ns` is of the run on screen.
void draw_headline(const PanelContext& context, const profiling::Distribution& step_ns);

struct StatusLine {
  std::string last_error;
  std::string says;  // what a key just did, or why it could not
};
/// True when Cancel was clicked.
bool draw_status_bar(const PanelContext& context, const StatusLine& line);

/// True when it was closed.
bool draw_help(const PanelContext& context);

}  // namespace app

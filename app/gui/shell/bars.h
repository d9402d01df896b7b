// The window's three strips: the bar on top, the headline figures, the status bar below; and the
// help overlay. Each draws into the current ImGui window and returns what was wished.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "app/gui/shell/keys.h"
#include "app/gui/view.h"

namespace app {

struct TopBarState {
  Workspace workspace = Workspace::Performance;
  bool recording = false;
  std::string recording_path;
  std::size_t recorded_runs = 0;
  std::size_t live_runs = 0;
};
struct TopBarWishes {
  std::optional<Action> action;
  std::optional<std::size_t> select_run;
  bool back_to_live = false;
  bool toggle_recording = false;
  bool save_session = false;
  bool toggle_theme = false;
};
TopBarWishes draw_top_bar(const PanelContext& context, const TopBarState& state);

/// Only measured values, each with its method as tooltip.
void draw_headline(const PanelContext& context);

/// True when Cancel was clicked.
bool draw_status_bar(const PanelContext& context, const std::string& last_error);

/// True when it was closed.
bool draw_help(const PanelContext& context);

}  // namespace app

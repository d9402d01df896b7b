// What a page draws with, and what it may ask for. Pages hold only a little state of their own: no
// I/O, no lock, no sleep.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/controllers/commands.h"
#include "app/controllers/session_view.h"
#include "app/gui/controls/control_map.h"
#include "app/gui/theme/theme.h"

namespace app {

/// Plot keys pressed since the last frame, handled by the plot under the mouse.
struct PlotKeys {
  int zoom = 0;  // steps in (W) minus steps out (S)
  int pan = 0;   // steps right (D, right arrow) minus steps left (A, left arrow)
  bool fit_selection = false;
  bool fit_all = false;
  bool clear = false;
  int event = 0;              // records forward (.) minus records back (,)
  int edge = 0;               // along the graph: to a dependent node (]) minus to a dependency ([)
  bool find = false;          // open the search
  bool mark = false;          // mark the selected range temporarily
  bool keep_mark = false;     // as a note
  int store = 0;              // store this view of the timeline as 1..9; 0 = not requested
  int recall = 0;             // return to it
  bool export_trace = false;  // the timeline's selected range to a file, as a Chrome trace
  bool export_records = false;  // or as a table
};

struct PanelContext {
  const SessionView& view;
  std::vector<Command>& commands;  // carried out after the frame, in this order
  const Theme& theme;
  ControlMap& controls;
  PlotKeys keys{};
};

/// A click on an expert selects it; a click on the selected one clears the selection.
inline void select_expert(const PanelContext& context, int expert) {
  context.commands.push_back(SelectExpert{context.view.expert == expert ? -1 : expert});
}

/// A page fills the region right of the rail. One class each in panels/ and compare/.
class PagePanel {
 public:
  virtual ~PagePanel() = default;
  /// Draws into the current ImGui window, using the whole of `size`.
  virtual void draw(const PanelContext& context, ImVec2 size) = 0;
  /// Called between frames, a few times per second: true when a background result is to be drawn.
  virtual bool tick() { return false; }
  /// Switches to one of the page's views; empty = its first, an unknown name changes nothing.
  virtual void show_view(std::string_view) {}
  virtual std::string_view view() const { return {}; }
  /// Selects as a user would, as soon as the run on screen is ready.
  virtual void select(const Selection&) {}
  virtual Selection selected() const { return {}; }
};

/// `wake`, here and below, may be called from any thread when tick() would find a result.
std::unique_ptr<PagePanel> make_performance_panel(const std::function<void()>& wake);
std::unique_ptr<PagePanel> make_numerics_panel();
std::unique_ptr<PagePanel> make_graphs_panel(const std::function<void()>& wake);
std::unique_ptr<PagePanel> make_compare_panel(const std::function<void()>& wake);

}  // namespace app

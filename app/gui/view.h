// What a page draws with, and what it may ask for. Pages hold only their own small state: no I/O,
// no lock, no sleep.
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

/// Plot keys pressed since the last frame. The plot under the mouse follows them.
struct PlotKeys {
  int zoom = 0;  // steps in (W) less steps out (S)
  int pan = 0;   // steps right (D, right arrow) less steps left (A, left arrow)
  bool fit_selection = false;
  bool fit_all = false;
  bool clear = false;
  int event = 0;              // records on (.) less records back (,)
  int edge = 0;               // along the graph: to what waits (]) less to what was waited for ([)
  bool find = false;          // open the search
  bool mark = false;          // the selected range, for a while
  bool keep_mark = false;     // as a note
  int store = 0;              // keep this view of the timeline as 1..9; 0 = nothing asked
  int recall = 0;             // come back to it
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

/// A click on an expert selects it; on the selected one, none.
inline void select_expert(const PanelContext& context, int expert) {
  context.commands.push_back(SelectExpert{context.view.expert == expert ? -1 : expert});
}

/// A page fills the region right of the rail. One class each in panels/ and compare/.
class PagePanel {
 public:
  virtual ~PagePanel() = default;
  /// Draws into the current ImGui window, using the whole of `size`.
  virtual void draw(const PanelContext& context, ImVec2 size) = 0;
  /// Between frames, a few times a second: true when something worked out elsewhere is to be drawn.
  virtual bool tick() { return false; }
  /// Shows one of the page's views from now on; a name that it does not know changes nothing.
  virtual void show_view(std::string_view) {}
  virtual std::string_view view() const { return {}; }
  /// Selects as a person would, as soon as the run on screen is drawn.
  virtual void select(const Selection&) {}
  virtual Selection selected() const { return {}; }
};

/// `wake`, here and below, may be called from any thread when tick() would find something.
std::unique_ptr<PagePanel> make_performance_panel(const std::function<void()>& wake);
std::unique_ptr<PagePanel> make_numerics_panel();
std::unique_ptr<PagePanel> make_graphs_panel(const std::function<void()>& wake);
std::unique_ptr<PagePanel> make_compare_panel(const std::function<void()>& wake);

}  // namespace app

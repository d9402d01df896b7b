// What everything in the window draws with, and what it may ask for; and the map of the frame's
// controls.
#pragma once

#include <imgui.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/controllers/commands.h"
#include "app/controllers/presentation.h"
#include "app/controllers/session_view.h"
#include "app/gui/theme/theme.h"

namespace app {

struct ControlEntry {
  std::string id;     // stable and unique: "recipe.pow2", "tab.numerics"
  std::string label;  // as displayed
  std::string kind;   // button, checkbox, combo, drag, input, tab, plot, text, menu, option
  std::string value;  // "true", "E4M3", "1024", ...
  ImVec2 min{};       // window pixels, top-left origin
  ImVec2 max{};
  bool enabled = true;
  std::string reason;   // why disabled
  bool visible = true;  // completely inside its region; false = scrolled or clipped away
};

/// The controls of the current frame: what accessibility tools and window tests find and click.
/// Every interactive widget goes through controls/widgets.h, which records it here.
class ControlMap {
 public:
  void begin_frame() {
    entries_.clear();
    tooltip_.clear();
  }
  void add(ControlEntry entry) { entries_.push_back(std::move(entry)); }
  /// What was added after the first `count` is covered.
  void keep(std::size_t count) { entries_.resize(std::min(count, entries_.size())); }
  const std::vector<ControlEntry>& entries() const { return entries_; }
  void set_tooltip(std::string text) { tooltip_ = std::move(text); }
  /// What is said at the pointer; empty = nothing.
  const std::string& tooltip() const { return tooltip_; }

 private:
  std::vector<ControlEntry> entries_;
  std::string tooltip_;
};

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
  bool collapse = false;      // or open the group of lanes under the mouse
  bool collapse_all = false;  // all groups
  bool mark = false;          // mark the selected range temporarily
  bool keep_mark = false;     // as a note
  int store = 0;              // store this view of the timeline as 1..9; 0 = not requested
  int recall = 0;             // return to it
  bool export_trace = false;  // the timeline's selected range to a file, as a Chrome trace
  bool export_records = false;  // or as a table
};

/// The number field that is being typed into. One at a time; kept between frames.
struct NumberEdit {
  ImGuiID field = 0;  // 0 = none
  std::string text;   // as typed so far
  bool focus_wanted = false;
  int frame = 0;  // in which it was last drawn: one that is no longer drawn is dropped
  // Tab and Shift+Tab go to the next and the previous field as drawn.
  bool next_begins = false;
  ImGuiID begins = 0;
  ImGuiID last_drawn = 0;
  // Text that was not taken, until its field or another is edited.
  ImGuiID refused_field = 0;
  std::string refusal;  // names the text and the limits
};

/// A card is being drawn for a picture: without buttons, and nothing is under a pointer.
struct PicturePass {
  std::string card;  // id of the one that is wanted
  ImVec2 size{};     // that it gets where it is not placed otherwise
  // Corner of the card, once it is drawn; the caption is added below.
  ImVec2 min{};
  ImVec2 max{};
  std::string caption{};
};

/// One card fills the page, in large type.
struct PresentingPass {
  std::size_t wanted = 0;     // of the cards with content; beyond the last one = the last one
  std::string_view chosen{};  // id of the one that the user has chosen; empty = `wanted`
  // The page, which the card fills, and how many controls there were before it was drawn.
  ImVec2 at{};
  ImVec2 size{};
  std::size_t controls_before = 0;
  // What is shown, once it is drawn.
  std::size_t card = 0;
  std::size_t cards = 0;  // 0 = the page has none now, and is shown as it is
  float fits = 0.0F;      // the part of its scale at which the card would be seen whole; 0 = any
  bool scrolls = false;   // it need not be seen whole
  std::string title{};
};

struct PanelContext {
  const SessionView& view;
  std::vector<Command>& commands;  // carried out after the frame, in this order
  const Theme& theme;
  ControlMap& controls;
  NumberEdit& number_edit;
  PlotKeys keys{};
  std::string_view pressed_button{};  // by the palette: id of the button; empty = none
  std::string_view outlined{};        // the panel that a tour speaks of: "performance.timeline"
  /// Why every control drawn with this shows its value but cannot be changed; empty = it can.
  std::string read_only{};
  PicturePass* picture = nullptr;              // null = a frame of the window
  PresentingPass* presenting = nullptr;        // null = all cards of the page are shown
  std::span<const PresentedCard> presented{};  // that the user has chosen
};

/// A click on an expert selects it; a click on the selected one clears the selection.
inline void select_expert(const PanelContext& context, int expert) {
  context.commands.push_back(SelectExpert{context.view.expert == expert ? -1 : expert});
}

}  // namespace app

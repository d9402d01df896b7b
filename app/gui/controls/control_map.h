// The map of the current frame's controls: what accessibility tools and window tests find and
// click. Every interactive widget of the window goes through controls/widgets.h, which records it
// here.
#pragma once

#include <imgui.h>

#include <string>
#include <vector>

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

/// Filled during one frame, then swapped out and, if requested, written as JSON.
class ControlMap {
 public:
  void begin_frame() { entries_.clear(); }
  void add(ControlEntry entry) { entries_.push_back(std::move(entry)); }
  const std::vector<ControlEntry>& entries() const { return entries_; }

 private:
  std::vector<ControlEntry> entries_;
};

}  // namespace app

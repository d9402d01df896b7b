// The command palette: every action by name, found by a few of its letters. The list is made by
// the shell anew for each frame that the palette is open, so that it is never out of date.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/controllers/workbench.h"
#include "app/gui/controls/panel_context.h"

namespace app {

struct PaletteEntry {
  std::string id;     // "run.now"
  std::string group;  // "Run"
  std::string title;
  std::string keys{};     // dimmed on the right
  std::string refusal{};  // why not now; empty = can be chosen
  Command command{};
};

/// All commands; each that is not possible now has the reason.
std::vector<PaletteEntry> palette_entries(const Workbench& workbench);

class CommandPalette {
 public:
  void open();
  void close() { open_ = false; }
  bool is_open() const { return open_; }
  /// Adds the command chosen with Enter or a click, and closes.
  void draw(const PanelContext& context, const std::vector<PaletteEntry>& entries);

 private:
  void draw_field(const PanelContext& context);
  void move(int steps, int count);

  std::string typed_;
  int selected_ = 0;
  bool open_ = false;
  bool focus_ = false;
  bool scroll_ = false;
};

/// How well a few typed letters name a text: each letter in order, not necessarily together, case
/// and spaces ignored. Larger = better: letters that begin words or follow each other count more,
/// long texts less; nothing typed fits everything with 0. nullopt = does not fit.
std::optional<int> subsequence_score(std::string_view typed, std::string_view text);

/// Indices of the entries that `typed` names, best first; as given when nothing is typed. What
/// cannot be had comes after what can.
std::vector<std::size_t> palette_matches(const std::vector<PaletteEntry>& entries,
                                         const std::string& typed);

}  // namespace app

// The command palette: every action by name, found by a few of its letters. The shell
// makes the list again for every frame while the palette is open, so that it is never out of date.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "app/gui/controls/panel_context.h"
#include "app/gui/shell/palette_entries.h"

namespace app {

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
  /// Matches of the typed text among the entries; searched again only if either has changed.
  const std::vector<std::size_t>& matches(const std::vector<PaletteEntry>& entries);

  std::string typed_;
  int selected_ = 0;
  bool open_ = false;
  bool focus_ = false;
  bool scroll_ = false;
  std::string searched_;              // what was typed at the last search
  std::size_t searched_entries_ = 0;  // what the entries were then
  std::vector<std::size_t> matches_;
};

}  // namespace app

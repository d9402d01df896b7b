// What the command palette lists: actions, settings of the request, views, files, machines, visits
// of the doctor, and the buttons of pages.
#pragma once

#include <functional>
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
  std::string words{};    // other words that find it
  std::string refusal{};  // why not now; empty = can be chosen
  Command command{};
};

/// What the commands are made from.
struct PaletteSource {
  const Workbench& workbench;
  const ControlMap& shown;  // what the frame has drawn so far: buttons of the page on screen
  /// Why a button of a page cannot be pressed now; empty = it can.
  std::function<std::string(Page, std::string_view button)> refusal;
};
/// All commands; those that are not possible now carry the reason.
std::vector<PaletteEntry> palette_entries(const PaletteSource& source);

}  // namespace app

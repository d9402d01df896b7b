// What the window remembers between starts, in $XDG_CONFIG_HOME/expertscope/settings.json.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "app/controllers/attach_controller.h"
#include "app/controllers/files_controller.h"
#include "app/controllers/machine_controller.h"
#include "app/controllers/presentation.h"
#include "app/gui/shell/rail_sections.h"
#include "app/gui/theme/theme.h"

namespace app {

/// Left to the window manager.
inline constexpr int kNoPlace = -100000;

struct Settings {
  int width = 1440;
  int height = 900;
  int x = kNoPlace;  // of the window's corner on the desktop
  int y = kNoPlace;
  float rail_width = 320;  // at text scale 1
  float text_scale = 0;    // 0 = the display's own
  ThemeKind theme = ThemeKind::Dark;
  bool restart_automatically = false;
  bool rail_hidden = false;
  RailSections rail_sections{};
  RememberedFiles files{};
  RememberedMachines machines{};
  RememberedPrograms programs{};
  static constexpr std::size_t kMostPresented = 64;
  std::vector<PresentedCard> presented{};  // in the order of the walk; empty = all with content
  // What was on screen when the window was closed.
  std::string request{};  // JSON, as on the command line; empty = none yet
  bool live = false;
  Page page = Page::Performance;
  std::string view{};  // of the page

  bool operator==(const Settings&) const = default;
};

std::string settings_path();

struct LoadedSettings {
  Settings settings;
  std::string problem{};     // the file was there but could not be used, and why
  bool first_start = false;  // there was no file
};
/// A broken file is reported and not used.
LoadedSettings load_settings(const std::string& path);
/// Renames a file that load_settings() had a problem with, so that saving does not replace what may
/// be repaired by hand. Returns a sentence that says where it is.
std::string set_aside_unreadable(const std::string& path);
/// Completely or not at all: a crash or a full disk leaves the old file. Empty = done.
std::string save_settings(const std::string& path, const Settings& settings);

}  // namespace app

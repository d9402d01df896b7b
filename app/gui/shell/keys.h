// The one table of actions: the keyboard, the `?` page and the command palette all read it. Keys
// are named by their place on the keyboard (a US layout's names), so that W A S D are under the
// same fingers on every layout; with Ctrl, letters are those printed on the keys.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "app/controllers/commands.h"
#include "app/gui/controls/panel_context.h"

namespace app {

/// A GLFW key with the modifiers that must be down, and no others. Shift counts only if the
/// chord has it or Ctrl: the place of characters such as `?` depends on the layout.
struct Chord {
  int key = 0;
  int modifiers = 0;
};

struct ActionRow {
  Action action;
  const char* id;     // stable: "run.now"; of the palette's control too
  const char* group;  // "Run"
  const char* title;  // in the palette and on the `?` page
  const char* keys;   // as displayed; empty = only in the palette
  std::vector<Chord> chords;
  const char* words = "";  // other words that people look for it by, in the palette
};
const std::vector<ActionRow>& action_table();
const ActionRow& row_of(Action action);
/// In the menu and over the dialog too.
inline constexpr char kExportPageTitle[] = "Export all results as one HTML page";

/// What the keyboard depends on besides the key.
struct KeyContext {
  bool typing = false;      // in a text field, which keeps plain letters and its own undo
  bool touring = false;     // a tour is on screen, which uses Space and the arrows
  bool presenting = false;  // one card is shown at a time: the same keys, unless a tour uses them
};
std::optional<Action> action_of(int key, int modifiers, const KeyContext& context);

/// Input for the plot under the mouse: keys with their effect, and mouse gestures (no chords).
struct PlotRow {
  const char* keys;
  const char* meaning;
  std::vector<Chord> chords;
  void (*press)(int key, PlotKeys& keys);
};
const std::vector<PlotRow>& plot_table();

/// The `?` page: every key of both tables, and those of fields and questions.
struct HelpRow {
  const char* keys;
  const char* meaning;
};
struct HelpSection {
  const char* title;
  std::vector<HelpRow> rows;
};
std::vector<HelpSection> help_sections();

/// Adds a key press to the input of the plot under the mouse.
void add_plot_key(int key, int modifiers, PlotKeys& keys);

}  // namespace app

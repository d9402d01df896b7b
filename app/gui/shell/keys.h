// The one table of what the window can be told: the keyboard, the `?` page and the command palette
// all read it. Keys are named by their place on the keyboard (a US layout's names), so that
// W A S D lie under the hand on every layout; with Ctrl, letters follow what is printed on them.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "app/controllers/commands.h"
#include "app/gui/controls/panel_context.h"

namespace app {

/// A GLFW key with the modifiers that must be down, and no others. Shift counts only where it is
/// named or where Ctrl is: `?` and its like move with the layout.
struct Chord {
  int key = 0;
  int modifiers = 0;
};

struct ActionRow {
  Action action;
  const char* id;     // stable: "run.now"; of the palette's control too
  const char* group;  // "Run"
  const char* title;  // as the palette and the `?` page say it
  const char* keys;   // as displayed; empty = only in the palette
  std::vector<Chord> chords;
};
const std::vector<ActionRow>& action_table();
const ActionRow& row_of(Action action);

/// What the keyboard depends on besides the key.
struct KeyContext {
  bool typing = false;   // in a text field, which keeps plain letters and its own undo
  bool touring = false;  // a tour is on screen: Space and the arrows are its own
};
std::optional<Action> action_of(int key, int modifiers, const KeyContext& context);

/// What the plot under the mouse obeys: keys with what they add, and mouse gestures (no chords).
struct PlotRow {
  const char* keys;
  const char* meaning;
  std::vector<Chord> chords;
  void (*press)(int key, PlotKeys& keys);
};
const std::vector<PlotRow>& plot_table();

/// Adds a key press to what the plot under the mouse is told.
void add_plot_key(int key, int modifiers, PlotKeys& keys);

}  // namespace app

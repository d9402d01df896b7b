// The table of actions and the search over it.
#include "app/gui/shell/keys.h"

#include <GLFW/glfw3.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "app/gui/shell/command_palette.h"

namespace app {
namespace {

TEST(Keys, NoChordMeansTwoThings) {
  std::set<std::pair<int, int>> seen;
  std::set<std::string> ids;
  for (const ActionRow& row : action_table()) {
    EXPECT_TRUE(ids.insert(row.id).second) << row.id;
    EXPECT_EQ(row.chords.empty() && row.action != Action::Help, row.keys[0] == '\0') << row.id;
    // While a tour is on screen, its keys replace those of the plots.
    if (row.group == std::string("Tour")) continue;
    for (const Chord& chord : row.chords) {
      EXPECT_TRUE(seen.insert({chord.key, chord.modifiers}).second) << row.id;
    }
  }
  for (const PlotRow& row : plot_table()) {
    EXPECT_EQ(row.chords.empty(), row.press == nullptr) << row.keys;
    for (const Chord& chord : row.chords) {
      // Escape closes what is in front and clears the selection under the mouse.
      if (chord.key == GLFW_KEY_ESCAPE) continue;
      EXPECT_TRUE(seen.insert({chord.key, chord.modifiers}).second) << row.keys;
    }
  }
}

TEST(Keys, LettersAndUndoAreLeftToATextField) {
  EXPECT_EQ(action_of(GLFW_KEY_Q, 0, {}), Action::ToggleRail);
  EXPECT_FALSE(action_of(GLFW_KEY_Q, 0, {.typing = true}));
  EXPECT_EQ(action_of(GLFW_KEY_Z, GLFW_MOD_CONTROL, {}), Action::Undo);
  EXPECT_FALSE(action_of(GLFW_KEY_Z, GLFW_MOD_CONTROL, {.typing = true}));
  EXPECT_EQ(action_of(GLFW_KEY_R, GLFW_MOD_CONTROL, {.typing = true}), Action::Run);
  EXPECT_EQ(action_of(GLFW_KEY_Z, GLFW_MOD_CONTROL | GLFW_MOD_SHIFT, {}), Action::Redo);
  EXPECT_FALSE(action_of(GLFW_KEY_ESCAPE, 0, {.typing = true}));
  EXPECT_FALSE(action_of(GLFW_KEY_RIGHT, 0, {}));
  EXPECT_EQ(action_of(GLFW_KEY_RIGHT, 0, {.touring = true}), Action::TourNext);
  EXPECT_FALSE(action_of(GLFW_KEY_SPACE, 0, {.typing = true, .touring = true}));
}

TEST(Keys, PlotKeysAddUp) {
  PlotKeys keys;
  add_plot_key(GLFW_KEY_W, 0, keys);
  add_plot_key(GLFW_KEY_W, 0, keys);
  add_plot_key(GLFW_KEY_S, 0, keys);
  add_plot_key(GLFW_KEY_D, 0, keys);
  add_plot_key(GLFW_KEY_W, GLFW_MOD_CONTROL, keys);
  EXPECT_EQ(keys.zoom, 1);
  EXPECT_EQ(keys.pan, 1);
}

TEST(Subsequence, LettersInOrderOnly) {
  EXPECT_TRUE(subsequence_score("mxf", "Recipe: MXFP8"));
  EXPECT_TRUE(subsequence_score("rec mx", "Recipe: MXFP8"));
  EXPECT_FALSE(subsequence_score("xmf", "Recipe: MXFP8"));
  EXPECT_FALSE(subsequence_score("a", ""));
  EXPECT_EQ(subsequence_score("", "anything"), 0);
}

TEST(Subsequence, WordsCountMoreThanScatteredLetters) {
  EXPECT_GT(subsequence_score("run", "Run the request"),
            subsequence_score("run", "Routing: uniform number"));
  EXPECT_GT(subsequence_score("dark", "Switch between dark and light"),
            subsequence_score("dark", "Delayed scale from: Max rack"));
  EXPECT_GT(subsequence_score("undo", "Undo"), subsequence_score("undo", "Undo the last change"));
}

}  // namespace
}  // namespace app

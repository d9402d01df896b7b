// The table of actions and the search over it.
#include "app/gui/shell/keys.h"

#include <GLFW/glfw3.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/shell/palette_search.h"

namespace app {
namespace {

TEST(Keys, NoChordMeansTwoThings) {
  std::set<std::pair<int, int>> seen;
  std::set<std::string> ids;
  for (const ActionRow& row : action_table()) {
    EXPECT_TRUE(ids.insert(row.id).second) << row.id;
    EXPECT_EQ(row.chords.empty() && row.action != Action::Help, row.keys[0] == '\0') << row.id;
    // While a tour is on screen, or cards are presented, their keys replace those of the plots.
    if (row.group == std::string("Tour") || row.group == std::string("Presenting")) continue;
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

TEST(Keys, PresentingTakesTheKeysThatATourLeaves) {
  EXPECT_EQ(action_of(GLFW_KEY_PAGE_DOWN, 0, {}), Action::NextRun);
  EXPECT_EQ(action_of(GLFW_KEY_PAGE_DOWN, 0, {.presenting = true}), Action::PresentNext);
  EXPECT_EQ(action_of(GLFW_KEY_RIGHT, 0, {.presenting = true}), Action::PresentNext);
  EXPECT_EQ(action_of(GLFW_KEY_LEFT, 0, {.presenting = true}), Action::PresentPrevious);
  EXPECT_FALSE(action_of(GLFW_KEY_END, 0, {}));
  EXPECT_EQ(action_of(GLFW_KEY_END, 0, {.presenting = true}), Action::PresentLast);
  EXPECT_EQ(action_of(GLFW_KEY_RIGHT, 0, {.touring = true, .presenting = true}), Action::TourNext);
  EXPECT_EQ(action_of(GLFW_KEY_PAGE_UP, 0, {.touring = true, .presenting = true}),
            Action::PresentPrevious);
  EXPECT_FALSE(action_of(GLFW_KEY_SPACE, 0, {.typing = true, .presenting = true}));
  EXPECT_EQ(action_of(GLFW_KEY_F11, 0, {.typing = true, .presenting = true}), Action::Present);
}

/// As the `?` page writes it; empty = a key that it need not name.
std::string written(const Chord& chord) {
  static const std::map<int, std::string> kNames = {
      {GLFW_KEY_ESCAPE, "Esc"},      {GLFW_KEY_SPACE, "Space"},
      {GLFW_KEY_LEFT, "Left arrow"}, {GLFW_KEY_RIGHT, "Right arrow"},
      {GLFW_KEY_PAGE_UP, "PageUp"},  {GLFW_KEY_PAGE_DOWN, "PageDown"},
      {GLFW_KEY_HOME, "Home"},       {GLFW_KEY_END, "End"},
      {GLFW_KEY_EQUAL, "="},         {GLFW_KEY_MINUS, "-"},
      {GLFW_KEY_SLASH, "/"},         {GLFW_KEY_COMMA, ","},
      {GLFW_KEY_PERIOD, "."},        {GLFW_KEY_LEFT_BRACKET, "["},
      {GLFW_KEY_RIGHT_BRACKET, "]"}};
  std::string text;
  if ((chord.modifiers & GLFW_MOD_CONTROL) != 0) text += "Ctrl+";
  if ((chord.modifiers & GLFW_MOD_ALT) != 0) text += "Alt+";
  if ((chord.modifiers & GLFW_MOD_SHIFT) != 0) text += "Shift+";
  const int key = chord.key;
  if (const auto named = kNames.find(key); named != kNames.end()) return text + named->second;
  if (key >= GLFW_KEY_F1 && key <= GLFW_KEY_F25)
    return text + "F" + std::to_string(key - GLFW_KEY_F1 + 1);
  if (key > GLFW_KEY_SPACE && key <= GLFW_KEY_Z) return text + static_cast<char>(key);
  return {};  // the same character on the number pad
}

TEST(Help, NamesEveryKeyOfBothTables) {
  std::map<std::string, std::string> shown;  // meaning -> keys
  for (const HelpSection& section : help_sections()) {
    for (const HelpRow& row : section.rows) {
      EXPECT_TRUE(shown.emplace(row.meaning, row.keys).second || row.meaning == std::string("pan"))
          << row.meaning;
    }
  }
  for (const ActionRow& row : action_table()) {
    if (row.chords.empty() && row.keys[0] == '\0') continue;
    ASSERT_TRUE(shown.contains(row.title)) << row.title;
    // The first is the one that is written; others reach the same character.
    if (!row.chords.empty()) {
      EXPECT_THAT(shown[row.title], ::testing::HasSubstr(written(row.chords.front()))) << row.title;
    }
    for (const Chord& chord : row.chords) {
      if (chord.key == GLFW_KEY_EQUAL) continue;  // + is = with Shift
      EXPECT_THAT(row.keys, ::testing::HasSubstr(written(chord))) << row.title;
    }
  }
  for (const PlotRow& row : plot_table()) EXPECT_TRUE(shown.contains(row.meaning)) << row.meaning;
}

TEST(Palette, IsFoundByTheWordsThatPeopleUse) {
  std::vector<PaletteEntry> entries;
  for (const ActionRow& row : action_table()) {
    entries.push_back({.id = row.id, .group = row.group, .title = row.title, .words = row.words});
  }
  const std::map<std::string, std::string> kFinds = {{"remote", "worker.remote"},
                                                     {"ssh", "worker.remote"},
                                                     {"quit", "file.quit"},
                                                     {"exit", "file.quit"},
                                                     {"dark", "view.theme"},
                                                     {"light", "view.theme"},
                                                     {"png", "file.picture"},
                                                     {"screenshot", "file.picture"},
                                                     {"csv", "file.export_records"},
                                                     {"perfetto", "file.export_trace"},
                                                     {"compare runs", "view.compare"},
                                                     {"tensor", "file.open"},
                                                     {"stop", "run.cancel"},
                                                     {"abort", "run.cancel"},
                                                     {"font", "view.larger"},
                                                     {"shortcuts", "help.keys"},
                                                     {"doctor", "view.graphs"},
                                                     {"load", "file.open"},
                                                     {"store", "file.save"},
                                                     {"restart", "worker.replace"}};
  for (const auto& [typed, id] : kFinds) {
    const std::vector<std::size_t> found = palette_matches(entries, typed);
    ASSERT_FALSE(found.empty()) << typed;
    EXPECT_EQ(entries[found.front()].id, id) << typed;
  }
  const auto offers = [&](const std::string& typed, const std::string& id) {
    const std::vector<std::size_t> found = palette_matches(entries, typed);
    return std::ranges::any_of(found, [&](std::size_t at) { return entries[at].id == id; });
  };
  EXPECT_TRUE(offers("gpu", "worker.remote"));
  EXPECT_TRUE(offers("export", "file.picture"));
  EXPECT_FALSE(offers("ssh", "file.quit"));
}

TEST(Palette, ANameThatBeginsWithWhatIsTypedComesFirst) {
  // Pages and views beside the actions whose other words name them too.
  std::vector<PaletteEntry> entries = {
      {.id = "graphs.memory", .group = "View", .title = "Graphs: Memory"},
      {.id = "layer", .group = "View", .title = "Numerics: Layer", .words = "activation memory"},
      {.id = "roofline", .group = "View", .title = "Performance: Roofline"},
      {.id = "measure", .group = "Run", .title = "Performance: Measure roofs of this machine"},
      {.id = "ends", .group = "View", .title = "The last card", .words = "export"},
      {.id = "png_of", .group = "View", .title = "Make the export"}};
  for (const ActionRow& row : action_table()) {
    entries.push_back({.id = row.id, .group = row.group, .title = row.title, .words = row.words});
  }
  const std::map<std::string, std::string> kFirst = {
      {"export", "file.export_page"}, {"memory", "graphs.memory"},
      {"mem", "graphs.memory"},       {"roof", "roofline"},
      {"roofs", "measure"},           {"numerics", "view.numerics"},
      {"record", "file.record"},      {"export csv", "file.export_records"},
      {"graphs mem", "graphs.memory"}};
  for (const auto& [typed, id] : kFirst) {
    const std::vector<std::size_t> found = palette_matches(entries, typed);
    ASSERT_FALSE(found.empty()) << typed;
    EXPECT_EQ(entries[found.front()].id, id) << typed;
  }
  // Then whole words, in names before elsewhere.
  const std::vector<std::size_t> found = palette_matches(entries, "export");
  const auto rank = [&](const std::string& id) {
    return std::ranges::find(found, id, [&](std::size_t at) { return entries[at].id; }) -
           found.begin();
  };
  EXPECT_LT(rank("file.export_trace"), rank("png_of"));
  EXPECT_LT(rank("png_of"), rank("ends"));
  EXPECT_LT(rank("ends"), static_cast<std::ptrdiff_t>(found.size()));
}

TEST(Palette, WholeWordsComeBeforeLetters) {
  const std::vector<PaletteEntry> entries = {
      {.id = "letters", .group = "View", .title = "Grow up: Open the panel"},
      {.id = "beginning", .group = "View", .title = "A groupwise panel"},
      {.id = "words", .group = "A longer name of some thing", .title = "Numbers of the group"},
      {.id = "several", .group = "View", .title = "Recorded", .words = "doctor gallery group"}};
  const auto ids = [&entries](const std::string& typed) {
    std::vector<std::string> found;
    for (const std::size_t at : palette_matches(entries, typed)) found.push_back(entries[at].id);
    return found;
  };
  const std::vector<std::string> found = ids("group");
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[2], "beginning");
  // Letters count where no word begins with what is typed.
  EXPECT_EQ(ids("gup"), std::vector<std::string>{"letters"});
  EXPECT_EQ(ids("recorded doctor"), std::vector<std::string>{"several"});
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
  // A letter within a word counts only after the one before it.
  EXPECT_FALSE(subsequence_score("dark", "Recorded visit: A fork that is never joined"));
  EXPECT_FALSE(subsequence_score("a", ""));
  EXPECT_EQ(subsequence_score("", "anything"), 0);
}

TEST(Subsequence, WordsCountMoreThanScatteredLetters) {
  EXPECT_GT(subsequence_score("run", "Run the request"),
            subsequence_score("run", "Routing: uniform number"));
  EXPECT_GT(subsequence_score("dark", "Switch between dark and light"),
            subsequence_score("dark", "Delayed amax: random kernel"));
  EXPECT_GT(subsequence_score("undo", "Undo"), subsequence_score("undo", "Undo the last change"));
}

}  // namespace
}  // namespace app

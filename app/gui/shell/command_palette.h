// The command palette: every action by name, found by a few of its letters. The shell
// makes the list again for every frame while the palette is open, so that it is never out of date.
#pragma once

#include <functional>
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

/// Score of how well the typed letters match a text: in order, each after the first beginning a
/// word or following the one before it, ignoring case and spaces. Larger is better: letters that
/// begin words or follow each other count more, long texts less; an empty input matches everything
/// with 0. nullopt = no match.
std::optional<int> subsequence_score(std::string_view typed, std::string_view text);

/// As subsequence_score(), for a text that begins one of these words; one letter is not enough.
std::optional<int> other_word_score(std::string_view typed, std::string_view words);

/// Indices of the entries that match `typed`, best first: those whose names, or parts of names,
/// begin with it, then those that have it as whole words, then as beginnings of words, in their
/// names before elsewhere; only where there are none, as letters. In the given order when nothing
/// is typed. Entries that are not possible now come last.
std::vector<std::size_t> palette_matches(const std::vector<PaletteEntry>& entries,
                                         const std::string& typed);

}  // namespace app

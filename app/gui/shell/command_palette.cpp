// What the palette lists, how typed letters find it, and the overlay: one field and a list below
// it; the arrows move in the list while the field keeps the caret.
#include "app/gui/shell/command_palette.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/controllers/request_actions.h"
#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/plot/plot_text.h"
#include "app/gui/shell/keys.h"
#include "app/gui/theme/fitted_lines.h"
#include "app/gui/theme/text.h"
#include "app/protocol/shipped_recordings.h"
#include "profiling/hazards/model/gallery_catalogue.h"

namespace app {
namespace {

bool key_pressed(ImGuiKey key) { return ImGui::IsKeyPressed(ImGui::GetKeyIndex(key)); }

/// Title left, group or keys right; the tooltip says why it is not possible now.
bool draw_entry(const PanelContext& context, const PaletteEntry& entry, int index, bool selected) {
  const Theme& theme = context.theme;
  const bool enabled = entry.refusal.empty();
  ImGui::PushID(index);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const bool clicked = ImGui::Selectable("##entry", selected, 0, ImVec2(0, theme.px(kRowHeight)));
  const bool hovered = ImGui::IsItemHovered();
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const ImFont* label = theme.fonts.label;
  const std::string right = entry.keys.empty() ? entry.group : entry.keys;
  const float right_width = plot::text_size(label, right).x;
  const float top = at.y + 0.5F * (theme.px(kRowHeight) - theme.fonts.body->FontSize);
  const std::string title =
      plot::fitted(theme.fonts.body, entry.title, width - right_width - theme.px(kGapLarge + kGap));
  plot::draw_text(draw, theme.fonts.body, ImVec2(at.x + theme.px(kGapSmall), top),
                  enabled ? theme.colors.text : theme.colors.dim_text, title);
  plot::draw_text_right(draw, label, ImVec2(at.x + width - theme.px(kGapSmall), top),
                        entry.keys.empty() ? theme.colors.dim_text : theme.colors.accent, right);
  controls::record(
      context, ("palette." + entry.id).c_str(), entry.title.c_str(), "option",
      fmt::format("row={};selected={};enabled={};{}", index, selected, enabled, entry.refusal), at,
      ImVec2(at.x + width, at.y + theme.px(kRowHeight)));
  if (hovered) controls::tooltip(context, with_whole(title, entry.title, entry.refusal));
  ImGui::PopID();
  return clicked;
}

/// Changes with whatever the order of the matches depends on.
std::size_t digest_of(const std::vector<PaletteEntry>& entries) {
  std::size_t digest = entries.size();
  for (const PaletteEntry& entry : entries) {
    for (const std::string* text : {&entry.title, &entry.group, &entry.words, &entry.refusal}) {
      digest = digest * 31 + std::hash<std::string>()(*text);
    }
  }
  return digest;
}

constexpr int kNone = std::numeric_limits<int>::min() / 2;
constexpr int kLetter = 1;
constexpr int kWordStart = 8;
constexpr int kFollows = 10;
constexpr int kTextStart = 4;

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }
bool word_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

std::vector<std::string> search_words(std::string_view text) {
  std::vector<std::string> words;
  bool inside = false;
  for (const char c : text) {
    if (word_letter(c)) {
      if (!inside) words.emplace_back();
      words.back() += lower(c);
    }
    inside = word_letter(c);
  }
  return words;
}

/// How what was typed matches an entry, the best last. An action's name says more of it than its
/// other words do, and the word that its name begins with, "Export all ...", most.
enum class WordMatch {
  Letters,
  OtherBeginning,
  NameBeginning,
  OtherWord,
  NameWord,
  MainBeginning,
  MainWord
};

/// The words that a name and each of its parts begin with: "graphs" and "memory" of "Graphs:
/// Memory".
std::vector<std::string> main_words_of(std::string_view title) {
  std::vector<std::string> words;
  while (!title.empty()) {
    const std::size_t colon = std::min(title.find(": "), title.size());
    std::vector<std::string> part = search_words(title.substr(0, colon));
    if (!part.empty()) words.push_back(std::move(part.front()));
    title.remove_prefix(std::min(colon + 2, title.size()));
  }
  return words;
}

struct EntryWords {
  std::vector<std::string> main;
  std::vector<std::string> name;
  std::vector<std::string> other;
};

WordMatch match_of_word(const std::string& typed, const EntryWords& words) {
  const auto begins = [&typed](const std::string& word) { return word.starts_with(typed); };
  const auto is_in = [&typed](const std::vector<std::string>& list) {
    return std::ranges::find(list, typed) != list.end();
  };
  if (is_in(words.main)) return WordMatch::MainWord;
  if (std::ranges::any_of(words.main, begins)) return WordMatch::MainBeginning;
  if (is_in(words.name)) return WordMatch::NameWord;
  if (is_in(words.other)) return WordMatch::OtherWord;
  if (std::ranges::any_of(words.name, begins)) return WordMatch::NameBeginning;
  return std::ranges::any_of(words.other, begins) ? WordMatch::OtherBeginning : WordMatch::Letters;
}

/// The worst match of any typed word.
WordMatch word_match(const std::vector<std::string>& typed, const PaletteEntry& entry) {
  if (typed.empty()) return WordMatch::Letters;
  const EntryWords words{.main = main_words_of(entry.title),
                         .name = search_words(entry.title),
                         .other = search_words(entry.group + " " + entry.words)};
  WordMatch match = WordMatch::MainWord;
  for (const std::string& one : typed) match = std::min(match, match_of_word(one, words));
  return match;
}

struct ViewEntry {
  const char* id;
  const char* title;
  const char* words;
  Page page;
  std::optional<std::string_view> view;
};
constexpr std::array<ViewEntry, 10> kViews = {
    {{"view.graphs.0", "Graphs: Replays", "", Page::Graphs, "replays"},
     {"view.graphs.1", "Graphs: Topology", "", Page::Graphs, "topology"},
     {"view.graphs.2", "Graphs: Memory", "", Page::Graphs, "memory"},
     {"view.graphs.3", "Graphs: Doctor", "", Page::Graphs, "doctor"},
     {"view.performance.roofline", "Performance: Roofline", "roofs ceilings bound memory compute",
      Page::Performance, std::nullopt},
     {"view.numerics.layer", "Numerics: Layer",
      "expert layer picture activation memory error sources", Page::Numerics, "layer"},
     {"view.numerics.channels", "Numerics: Channels",
      "outlier channel column row amax massive activation", Page::Numerics, "channels"},
     {"view.numerics.steps", "Numerics: Over steps", "series history delayed amax drift step",
      Page::Numerics, "steps"},
     {"view.compare.pair", "Compare: A against B", "interleaved ratio verdict", Page::Compare,
      "pair"},
     {"view.compare.frontier", "Compare: Frontier",
      "sweep of recipes shapes seeds accuracy against time pareto", Page::Compare, "frontier"}}};

/// A button of a page that acts on what is chosen there.
struct PageButton {
  const char* id;  // in the control map
  const char* group;
  const char* title;
  const char* words;
  ShowPage page;
  const char* otherwise;  // said if the page does not show it
};
const std::array<PageButton, 6> kPageButtons = {
    {{"compare.again",
      "Run",
      "Compare: Measure again, A and B interleaved",
      "ab blocks verdict",
      {Page::Compare, "pair"},
      "The Compare page has no room for Measure again now"},
     {"compare.swap",
      "Run",
      "Compare: Swap A and B",
      "exchange other way around",
      {Page::Compare, "pair"},
      "The Compare page has no A and B to swap now"},
     {"frontier.start",
      "Run",
      "Compare: Start the sweep of the frontier",
      "recipes shapes seeds accuracy against time",
      {Page::Compare, "frontier"},
      "The Frontier cannot start a sweep now"},
     {"recipes.compare",
      "Run",
      "Numerics: Quantize all recipes",
      "compare codes scales",
      {Page::Numerics, "recipes"},
      "The recipes cannot be compared now"},
     {"performance.measure_ceilings",
      "Run",
      "Performance: Measure roofs of this machine",
      "ceilings roofline copy dense product",
      {Page::Performance, std::nullopt},
      "The roofline of this run has no point to measure roofs for"},
     {"doctor.export",
      "File",
      "Doctor: Export report",
      "save markdown json finding",
      {Page::Graphs, "doctor"},
      "The doctor shows no report now"}}};

/// Each does what its button does, on its page, which it shows if another one is on screen.
void add_page_buttons(const PaletteSource& source, std::vector<PaletteEntry>& entries) {
  const std::vector<ControlEntry>& shown = source.shown.entries();
  for (const PageButton& button : kPageButtons) {
    const auto drawn = std::ranges::find(shown, button.id, &ControlEntry::id);
    std::string refusal;
    if (drawn != shown.end()) {
      refusal = drawn->enabled ? std::string() : drawn->reason;
    } else {
      refusal = source.workbench.presentation.on() ? "While presenting: Esc ends that first"
                                                   : source.refusal(button.page.page, button.id);
    }
    entries.push_back({.id = button.id,
                       .group = button.group,
                       .title = button.title,
                       .words = button.words,
                       .refusal = std::move(refusal),
                       .command = PressButton{button.id, button.page, button.otherwise}});
  }
}

}  // namespace

std::vector<std::size_t> palette_matches(const std::vector<PaletteEntry>& entries,
                                         const std::string& typed) {
  std::vector<std::size_t> order;
  std::vector<int> scores(entries.size());
  std::vector<WordMatch> words(entries.size(), WordMatch::Letters);
  const std::vector<std::string> typed_words = search_words(typed);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const PaletteEntry& entry = entries[i];
    const auto title = subsequence_score(typed, entry.title + " " + entry.group);
    const auto word = other_word_score(typed, entry.words);
    words[i] = word_match(typed_words, entry);
    const bool several = typed_words.size() > 1 && words[i] != WordMatch::Letters;
    if (!title && !word && !several) continue;
    scores[i] = std::max(title.value_or(0), word.value_or(0));
    order.push_back(i);
  }
  // Letters are for what is typed in short: where words match, they only add noise.
  const bool any_word =
      std::ranges::any_of(order, [&](std::size_t at) { return words[at] != WordMatch::Letters; });
  if (any_word) {
    std::erase_if(order, [&](std::size_t at) { return words[at] == WordMatch::Letters; });
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const bool can_a = entries[a].refusal.empty();
    const bool can_b = entries[b].refusal.empty();
    if (can_a != can_b) return can_a;
    return words[a] != words[b] ? words[a] > words[b] : scores[a] > scores[b];
  });
  return order;
}

void CommandPalette::open() {
  open_ = true;
  focus_ = true;
  scroll_ = true;
  typed_.clear();
  selected_ = 0;
}

void CommandPalette::move(int steps, int count) {
  if (count == 0) return;
  selected_ = std::clamp(selected_ + steps, 0, count - 1);
  scroll_ = true;
}

const std::vector<std::size_t>& CommandPalette::matches(const std::vector<PaletteEntry>& entries) {
  const std::size_t digest = digest_of(entries);
  if (digest != searched_entries_ || typed_ != searched_) {
    matches_ = palette_matches(entries, typed_);
    searched_ = typed_;
    searched_entries_ = digest;
  }
  return matches_;
}

void CommandPalette::draw_field(const PanelContext& context) {
  const std::string before = typed_;
  if (focus_) ImGui::SetKeyboardFocusHere();
  focus_ = false;
  controls::input_text(context, "palette.filter", "##filter", typed_,
                       {.hint = "Type what to do: run, zipf, dark, save",
                        .most_bytes = controls::kMaxSearchedBytes});
  if (typed_ == before) return;
  selected_ = 0;
  scroll_ = true;
}

void CommandPalette::draw(const PanelContext& context, const std::vector<PaletteEntry>& entries) {
  const Theme& theme = context.theme;
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const ImGuiStyle& style = ImGui::GetStyle();
  const float row = theme.px(kRowHeight) + style.ItemSpacing.y;
  // As high as its list, up to a screenful.
  const auto listed = static_cast<float>(matches(entries).size());
  const float wanted = row * (std::max(listed, 1.0F) + 1.0F) + 2 * style.WindowPadding.y;
  const ImVec2 size = {std::min(theme.px(620), display.x - theme.px(32)),
                       std::min({theme.px(440), display.y - theme.px(96), wanted})};
  const ImVec2 at = {(display.x - size.x) / 2, theme.px(48)};
  if (focus_) ImGui::SetNextWindowFocus();
  const OverlayScope overlay("##palette", at, size, theme.colors.panel);
  if (key_pressed(ImGuiKey_Escape)) {
    open_ = false;
    return;
  }
  draw_field(context);
  const std::vector<std::size_t>& found = matches(entries);
  const int count = static_cast<int>(found.size());
  if (key_pressed(ImGuiKey_DownArrow)) move(1, count);
  if (key_pressed(ImGuiKey_UpArrow)) move(-1, count);
  if (key_pressed(ImGuiKey_PageDown)) move(8, count);
  if (key_pressed(ImGuiKey_PageUp)) move(-8, count);
  selected_ = std::clamp(selected_, 0, std::max(count - 1, 0));
  const bool entered = key_pressed(ImGuiKey_Enter) || key_pressed(ImGuiKey_KeyPadEnter);
  controls::record(context, "palette", "Command palette", "text",
                   fmt::format("typed={};matches={}", typed_, count), at,
                   ImVec2(at.x + size.x, at.y + size.y));
  const ChildScope list("##matches", {0, 0}, theme.colors.panel, {0, 0});
  if (count == 0) show_dimmed("No action is named like this");
  if (scroll_ && count > 0) {
    const float top = row * static_cast<float>(selected_);
    const float visible = ImGui::GetWindowHeight();
    if (top < ImGui::GetScrollY()) ImGui::SetScrollY(top);
    if (top + row > ImGui::GetScrollY() + visible) ImGui::SetScrollY(top + row - visible);
    scroll_ = false;
  }
  for (int i = 0; i < count; ++i) {
    const PaletteEntry& entry = entries[found[static_cast<std::size_t>(i)]];
    const bool selected = i == selected_;
    const bool clicked = draw_entry(context, entry, i, selected);
    // The list stays open for an entry that is not possible now.
    if (!clicked && !(selected && entered)) continue;
    focus_ = true;
    if (!entry.refusal.empty()) continue;
    context.commands.push_back(entry.command);
    open_ = false;
  }
}

std::vector<PaletteEntry> palette_entries(const PaletteSource& source) {
  const Workbench& workbench = source.workbench;
  const engine::RunRequest& requested = workbench.runs.state.shown_request();
  const std::string locked = workbench.change_refusal();
  std::vector<PaletteEntry> entries;
  for (const ActionRow& row : action_table()) {
    if (row.action == Action::Palette || row.action == Action::Close) continue;
    entries.push_back({.id = row.id,
                       .group = row.group,
                       .title = row.title,
                       .keys = row.keys,
                       .words = row.words,
                       .refusal = workbench.refusal(row.action),
                       .command = row.action});
  }
  for (const RequestAction& one : request_actions(requested, workbench.options.presets)) {
    engine::RunRequest changed = requested;
    one.change(changed);
    entries.push_back(
        {.id = one.id,
         .group = one.group,
         .title = one.title,
         .words = one.words,
         .refusal = locked.empty() ? refusal_of(one, requested, workbench.runs.link) : locked,
         .command = ChooseRequest{std::move(changed)}});
  }
  for (const ViewEntry& one : kViews) {
    entries.push_back({.id = one.id,
                       .group = "View",
                       .title = one.title,
                       .words = one.words,
                       .command = ShowPage{one.page, std::optional<std::string>(one.view)}});
  }
  for (const ShippedRecording& one : kShippedRecordings) {
    if (one == kExampleRecording) continue;  // has an action of its own
    entries.push_back({.id = fmt::format("shipped.{}", one.file),
                       .group = "File",
                       .title = fmt::format("Open a shipped recording: {}", one.shows),
                       .words = "example sample demo h200 gpu",
                       .command = OpenShipped{one}});
  }
  for (const TourController::Named& tour : workbench.tours.shipped()) {
    entries.push_back({.id = "tour." + tour.title,
                       .group = "Tour",
                       .title = "Play the tour: " + tour.title,
                       .command = PlayTour{tour.path}});
  }
  for (const RecentFile& file : workbench.files.recent()) {
    entries.push_back({.id = "recent." + file.path,
                       .group = "Recent file",
                       .title = "Open " + file.path,
                       .refusal = file.missing,
                       .command = OpenFile{file.path}});
  }
  entries.push_back({.id = "worker.here",
                     .group = "Run",
                     .title = "Run on this machine",
                     .words = "local disconnect back",
                     .refusal = workbench.refusal(Action::UseThisMachine),
                     .command = Action::UseThisMachine});
  entries.push_back({.id = "attach.stop",
                     .group = "Run",
                     .title = "Stop watching the attached program, which goes on",
                     .words = "detach leave",
                     .refusal = workbench.refusal(Action::StopWatching),
                     .command = Action::StopWatching});
  entries.push_back({.id = "attach.end",
                     .group = "Run",
                     .title = "End the attached program",
                     .words = "stop terminate kill",
                     .refusal = workbench.refusal(Action::EndProgram),
                     .command = Action::EndProgram});
  for (const ConnectOptions& one : workbench.machine.remembered()) {
    entries.push_back({.id = "machine." + one.host,
                       .group = "Run",
                       .title = "Run on " + one.host,
                       .words = "remote ssh connect",
                       .refusal = workbench.refusal(Action::ChooseMachine),
                       .command = ConnectMachine{one}});
  }
  entries.push_back({.id = "compare.open",
                     .group = "File",
                     .title = "Compare: open a second recording, to be B",
                     .words = "against other",
                     .command = AskPath{FilePurpose::OpenSecond}});
  const std::string no_visit = visit_refusal(workbench.doctor.state(), workbench.runs.link.status(),
                                             workbench.runs.link.hello());
  for (const bool prove : {false, true}) {
    VisitOrder order;
    order.subject.request = requested;
    order.options.prove = prove;
    entries.push_back({.id = prove ? "doctor.prove" : "doctor.examine",
                       .group = "Run",
                       .title = prove ? "Doctor: examine my step's graph and prove the findings"
                                      : "Doctor: examine my step's graph",
                       .words = "hazard capture replay experiments",
                       .refusal = no_visit,
                       .command = std::move(order)});
  }
  for (const profiling::HazardCase& one : profiling::hazard_cases()) {
    VisitOrder order;
    order.subject.request = requested;
    order.subject.gallery_case = one.id;
    order.options.prove = true;
    entries.push_back({.id = "gallery." + one.id,
                       .group = "Gallery",
                       .title = "Examine: " + one.title,
                       .refusal = no_visit,
                       .command = std::move(order)});
    entries.push_back({.id = "recorded." + one.id,
                       .group = "Gallery",
                       .title = "Recorded visit: " + one.title,
                       .words = "doctor gallery hazard finding",
                       .command = ShowRecordedCase{one.id}});
  }
  add_page_buttons(source, entries);
  return entries;
}

std::optional<int> other_word_score(std::string_view typed, std::string_view words) {
  if (typed.size() < 2) return std::nullopt;
  const auto same = [](char a, char b) { return lower(a) == lower(b); };
  std::optional<int> best;
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(' '));
    words.remove_prefix(std::min(word.size() + 1, words.size()));
    if (word.size() < typed.size() ||
        !std::ranges::equal(typed, word.substr(0, typed.size()), same)) {
      continue;
    }
    best = std::max(best, subsequence_score(typed, word));
  }
  return best;
}

std::optional<int> subsequence_score(std::string_view typed, std::string_view text) {
  std::string wanted;
  for (const char c : typed) {
    if (c != ' ') wanted += lower(c);
  }
  if (wanted.empty()) return 0;
  if (text.empty()) return std::nullopt;
  // ends[i]: best score with the letters so far, the last of them at text[i].
  std::vector<int> ends(text.size(), kNone);
  for (std::size_t letter = 0; letter < wanted.size(); ++letter) {
    std::vector<int> next(text.size(), kNone);
    int best_before = letter == 0 ? 0 : kNone;  // over all earlier places
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (letter > 0 && i > 0) best_before = std::max(best_before, ends[i - 1]);
      if (lower(text[i]) != wanted[letter]) continue;
      int bonus = kLetter;
      const bool begins = word_letter(text[i]) && (i == 0 || !word_letter(text[i - 1]));
      if (begins) bonus += kWordStart;
      if (i == 0) bonus += kTextStart;
      // After the first, a letter begins a word or follows the one before it.
      int score = letter == 0 || begins ? best_before + bonus : kNone;
      if (letter > 0 && i > 0 && ends[i - 1] > kNone) {
        score = std::max(score, ends[i - 1] + bonus + kFollows);
      }
      next[i] = score > 0 ? score : kNone;
    }
    ends = std::move(next);
  }
  const int best = *std::max_element(ends.begin(), ends.end());
  if (best <= 0) return std::nullopt;
  return best * 16 - static_cast<int>(std::min<std::size_t>(text.size(), 200));
}

}  // namespace app

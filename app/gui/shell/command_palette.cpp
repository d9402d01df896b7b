// The overlay: one field and a list below it; the arrows move in the list while the field keeps the
// caret.
#include "app/gui/shell/command_palette.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/plot/plot_text.h"
#include "app/gui/shell/palette_search.h"
#include "app/gui/theme/fitted_lines.h"
#include "app/gui/theme/text.h"

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

}  // namespace

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

}  // namespace app

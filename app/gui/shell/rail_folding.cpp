// What each section of the rail shows: its heading folds it; below it are the settings that are
// usual for this request, or all of them.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "app/controllers/request_controls.h"
#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/shell/control_rail.h"
#include "app/gui/theme/text.h"

namespace app {
namespace {

/// "Engine" -> "rail.engine"
std::string section_id(std::string_view title) {
  std::string id = "rail." + std::string(title);
  std::ranges::transform(id, id.begin(), [](unsigned char c) { return std::tolower(c); });
  return id;
}

template <class Visit>
void for_section(std::string_view title, const Visit& visit) {
  for (const RequestControl& control : request_controls()) {
    if (control.group == title) visit(control);
  }
}

}  // namespace

void ControlRail::find_usual(const engine::RunRequest& request) {
  const bool comparing = context_->view.recipes;
  if (!usual_.empty() && usual_of_ == request && usual_comparing_ == comparing) return;
  usual_of_ = request;
  usual_comparing_ = comparing;
  usual_.clear();
  changed_.clear();
  for (const RequestControl& control : request_controls()) {
    usual_.push_back(is_usual(control, request, comparing));
    changed_.push_back(usual_.back() && differs_from_default(control, request));
  }
}

bool ControlRail::shows(const RequestControl& control) const {
  const std::size_t index =
      static_cast<std::size_t>(&request_control(control.id) - request_controls().data());
  return usual_[index] || sections_->full.contains(control.group) || is_wrong(control.field) ||
         !controls::refusal_of(*context_, control.id).empty();
}

bool ControlRail::is_changed(const RequestControl& control) const {
  return changed_[static_cast<std::size_t>(&request_control(control.id) -
                                           request_controls().data())];
}

bool ControlRail::section(const char* title) {
  const Theme& theme = context_->theme;
  if (ImGui::GetCursorPosY() > theme.px(kRowHeight)) ImGui::Dummy({0, theme.px(2)});
  bool wrong = false;
  int count = 0;
  for_section(title, [&](const RequestControl& control) {
    wrong = wrong || is_wrong(control.field);
    if (is_changed(control)) ++count;
  });
  // What blocks the run is always in sight.
  bool open = wrong || !sections_->folded.contains(title);
  const std::string id = section_id(title);
  if (controls::fold(*context_, id.c_str(), title, open, {})) {
    if (open) sections_->folded.erase(title);
    if (!open) sections_->folded.insert(title);
  }
  if (ImGui::IsItemHovered() && count > 0) {
    std::string changed;
    for_section(title, [&](const RequestControl& control) {
      if (!is_changed(control)) return;
      changed +=
          (changed.empty() ? "Not at their defaults: " : ", ") + setting_label(control.field);
    });
    controls::tooltip(*context_, changed);
  }
  if (open) {
    draw_more(title, id);
  } else if (count > 0) {
    draw_at_right(fmt::format("{} changed", count), theme.colors.accent);
  }
  return open;
}

void ControlRail::draw_at_right(const std::string& words, ImU32 color) {
  const FontScope font(context_->theme.fonts.label);
  ImGui::SameLine();
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + ImGui::GetContentRegionAvail().x -
                       shown_size(words).x);
  const TextColorScope text(color);
  show_text(words);
}

void ControlRail::draw_more(const std::string& title, const std::string& id) {
  int hidden = 0;
  for_section(title, [&](const RequestControl& control) {
    const auto index = static_cast<std::size_t>(&control - request_controls().data());
    if (!usual_[index]) ++hidden;
  });
  if (hidden == 0) return;
  const bool full = sections_->full.contains(title);
  const std::string words = full ? "less" : fmt::format("{} more", hidden);
  draw_at_right(words, context_->theme.colors.dim_text);
  const ImVec2 min = ImGui::GetItemRectMin();
  const ImVec2 max = ImGui::GetItemRectMax();
  const std::string name = id + ".more";
  controls::record(*context_, name.c_str(), words.c_str(), "button", full ? "all" : "usual", min,
                   max);
  if (!ImGui::IsItemHovered()) return;
  ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
  controls::tooltip(*context_, full ? "Show the usual settings only"
                                    : "Show settings that are seldom changed, and those without an "
                                      "effect in this step, with the reason");
  if (!ImGui::IsMouseClicked(ImGuiMouseButton_Left)) return;
  if (full) sections_->full.erase(title);
  if (!full) sections_->full.insert(title);
}

void ControlRail::mark_changed(const RequestControl& control) {
  if (!is_changed(control)) return;
  const Theme& theme = context_->theme;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::GetWindowDrawList()->AddRectFilled({at.x - theme.px(5), at.y + theme.px(3)},
                                            {at.x - theme.px(3), at.y + theme.px(kRowHeight - 3)},
                                            theme.colors.accent);
}

void ControlRail::place_in_row(float gap) {
  if (row_.begun) {
    ImGui::SameLine(0, gap);
  } else if (row_.label != nullptr) {
    row_label(row_.label);
  }
  row_.begun = true;
}

}  // namespace app

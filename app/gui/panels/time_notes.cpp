#include "app/gui/panels/time_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/plot/format.h"
#include "app/gui/plot/plot_text.h"
#include "app/gui/theme/text.h"
#include "engine/model/moment.h"

namespace app {
namespace {

constexpr const char* kNotePopup = "##performance.note";
constexpr const char* kList = "##performance.notes";
constexpr float kStripHeight = 16;

plot::Range range_of(const profiling::TimeNote& note) {
  return {static_cast<double>(note.begin_ns), static_cast<double>(note.end_ns)};
}

std::string title_of(const profiling::TimeNote& note) {
  return note.text.empty() ? std::string("(no text)") : note.text;
}

std::string place_of(const profiling::TimeNote& note) {
  return fmt::format("{} from {}", plot::duration_text(range_of(note).span()),
                     plot::duration_text(static_cast<double>(note.begin_ns)));
}

/// With a margin, so that the context is visible.
plot::Range around(const plot::Range& range) {
  const double air = std::max(0.6 * range.span(), 100.0);
  return {range.min - air, range.max + air};
}

}  // namespace

void TimeNotes::forget() {
  mark_.reset();
  edited_.reset();
  open_words_ = false;
}

void TimeNotes::put(const PanelContext& context, std::vector<profiling::TimeNote> notes) {
  context.commands.push_back(SetNotes{std::move(notes)});
}

void TimeNotes::edit(const PanelContext& context, std::size_t index) {
  edited_ = index;
  if (index < context.view.notes->size()) words_ = (*context.view.notes)[index];
  open_words_ = true;
}

void TimeNotes::take_keys(const PanelContext& context, const plot::PlotView& view) {
  if (context.keys.clear) mark_.reset();
  if (!context.keys.mark && !context.keys.keep_mark) return;
  if (!view.selection) {
    context.commands.push_back(StatusMessage{"Select a range of the timeline first: drag over it"});
    return;
  }
  if (context.keys.mark) {
    mark_ = view.selection;
    return;
  }
  words_ = {.begin_ns = static_cast<std::int64_t>(view.selection->min),
            .end_ns = static_cast<std::int64_t>(view.selection->max),
            .text = {},
            .created_ms = profiling::unix_time_ms()};
  edit(context, context.view.notes->size());
}

void TimeNotes::take_numbers(const PanelContext& context, plot::PlotView& view) {
  if (const int number = context.keys.store; number > 0) {
    kept_views_[static_cast<std::size_t>(number)] = view.x;
    context.commands.push_back(
        StatusMessage{fmt::format("This view is stored: {} returns to it", number)});
  }
  if (const int number = context.keys.recall; number > 0) {
    const auto& kept = kept_views_[static_cast<std::size_t>(number)];
    if (!kept) {
      context.commands.push_back(
          StatusMessage{fmt::format("No view is stored as {0}: Alt+{0} stores one", number)});
      return;
    }
    view.x = *kept;
    view.held = true;
  }
}

float TimeNotes::prepare(const PanelContext& context, plot::PlotView& view) {
  take_numbers(context, view);
  if (context.view.notes == nullptr) return 0.0F;
  take_keys(context, view);
  const bool any = mark_ || !context.view.notes->empty() || edited_;
  return any ? context.theme.px(kStripHeight + 4) : 0.0F;
}

void TimeNotes::draw_note(const PanelContext& context, const plot::AxisMap& x, ImVec2 strip_min,
                          ImVec2 strip_max, const Begins& begins, std::size_t index) {
  const Theme& theme = context.theme;
  const profiling::TimeNote& note = (*context.view.notes)[index];
  const float left = std::max(x.to_pixel(static_cast<double>(note.begin_ns)), strip_min.x);
  const float right = std::min(
      std::max(x.to_pixel(static_cast<double>(note.end_ns)), left + theme.px(6)), strip_max.x);
  if (right <= left) return;
  const ImVec2 low(left, strip_min.y);
  const ImVec2 high(right, strip_max.y);
  ImDrawList* draw = ImGui::GetWindowDrawList();
  draw->AddRectFilled(low, high, plot::faded(theme.colors.warn, 0.35F), theme.px(2));
  draw->AddLine(low, ImVec2(left, high.y), theme.colors.warn, theme.px(2));
  const ImFont* font = theme.fonts.label;
  // Notes may overlap: the text ends where the next note begins.
  const auto next = std::ranges::upper_bound(begins, std::pair(note.begin_ns, index));
  const float end =
      next == begins.end() ? right : std::min(right, x.to_pixel(static_cast<double>(next->first)));
  const std::string text = plot::fitted(font, title_of(note), end - left - theme.px(6));
  plot::draw_text(draw, font, ImVec2(left + theme.px(5), low.y + theme.px(1)), theme.colors.text,
                  text);
  const std::string id = fmt::format("performance.note.{}", index);
  controls::record(context, id.c_str(), title_of(note).c_str(), "option",
                   fmt::format("{};{}", note.begin_ns, note.end_ns), low, high);
  if (!ImGui::IsMouseHoveringRect(low, high) || !ImGui::IsWindowHovered()) return;
  const auto when = static_cast<std::time_t>(note.created_ms / 1000);
  controls::tooltip(
      context, fmt::format("{}\n{}\nwritten {}\nClick to change it", title_of(note), place_of(note),
                           engine::local_time(when, "%Y-%m-%d %H:%M")));
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) clicked_ = index;
}

bool TimeNotes::draw(const PanelContext& context, ImVec2 min, ImVec2 max, plot::PlotView& view) {
  if (context.view.notes == nullptr) return false;
  const Theme& theme = context.theme;
  const plot::AxisMap x{view.x, static_cast<double>(min.x), static_cast<double>(max.x)};
  const ImVec2 strip_min(min.x, min.y - theme.px(kStripHeight + 2));
  const ImVec2 strip_max(max.x, min.y - theme.px(2));
  ImDrawList* draw = ImGui::GetWindowDrawList();
  if (mark_) {
    for (const double edge : {mark_->min, mark_->max}) {
      const float at = x.to_pixel(edge);
      if (at >= min.x && at <= max.x) {
        draw->AddLine(ImVec2(at, strip_min.y), ImVec2(at, max.y), theme.colors.warn);
      }
    }
    controls::record(context, "performance.mark", "marked range", "text",
                     plot::duration_text(mark_->span()), strip_min, strip_max);
  }
  clicked_.reset();
  Begins begins;
  for (const profiling::TimeNote& note : *context.view.notes) {
    begins.emplace_back(note.begin_ns, begins.size());
  }
  std::ranges::sort(begins);
  for (std::size_t i = 0; i < begins.size(); ++i) {
    draw_note(context, x, strip_min, strip_max, begins, i);
  }
  bool moved = false;
  if (clicked_) {
    view.selection = range_of((*context.view.notes)[*clicked_]);
    moved = true;
    edit(context, *clicked_);
  }
  draw_list(context, view, moved);
  draw_words(context);
  return moved;
}

void TimeNotes::draw_list(const PanelContext& context, plot::PlotView& view, bool& moved) {
  const std::vector<profiling::TimeNote>& notes = *context.view.notes;
  if (notes.empty()) return;
  const Theme& theme = context.theme;
  const std::string label = fmt::format("{} note{}", notes.size(), notes.size() == 1 ? "" : "s");
  ImGui::PushFont(theme.fonts.label);
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(theme.px(4), 0));
  const bool pressed = ImGui::SmallButton(label.c_str());
  controls::record(context, "performance.notes", label.c_str(), "button", "",
                   ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
  if (ImGui::IsItemHovered()) controls::tooltip(context, "All notes of this run");
  ImGui::PopStyleVar();
  ImGui::PopFont();
  if (pressed) ImGui::OpenPopup(kList);
  const PopupScope popup(kList, theme.px(kGap));
  if (!popup) return;
  for (std::size_t i = 0; i < notes.size(); ++i) {
    if (controls::menu_item(context, fmt::format("performance.notes.{}", i).c_str(),
                            title_of(notes[i]).c_str(), true, place_of(notes[i]).c_str())) {
      view.selection = range_of(notes[i]);
      view.x = around(*view.selection);
      view.held = true;
      moved = true;
    }
  }
}

void TimeNotes::draw_words(const PanelContext& context) {
  if (!edited_) return;
  const Theme& theme = context.theme;
  const bool opening = std::exchange(open_words_, false);
  if (opening) ImGui::OpenPopup(kNotePopup);
  const PopupScope popup(kNotePopup, theme.px(kGap));
  if (!popup) {
    edited_.reset();
    return;
  }
  std::vector<profiling::TimeNote> notes = *context.view.notes;
  const bool is_new = *edited_ >= notes.size();
  show_text("Note on " + place_of(words_));
  if (opening) ImGui::SetKeyboardFocusHere();
  controls::input_text(context, "note.text", "##note", words_.text, {.width = theme.px(320)});
  const bool entered =
      ImGui::IsItemDeactivated() && ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Enter));
  const bool keep =
      controls::button(context, "note.keep", "Keep", {.width = theme.px(80)}) || entered;
  ImGui::SameLine();
  const bool remove = controls::button(context, "note.delete", is_new ? "Cancel" : "Delete",
                                       {.width = theme.px(80)});
  if (keep) {
    if (is_new) {
      notes.push_back(words_);
    } else {
      notes[*edited_] = words_;
    }
  }
  if (remove && !is_new) notes.erase(notes.begin() + static_cast<std::ptrdiff_t>(*edited_));
  if (keep || (remove && !is_new)) put(context, std::move(notes));
  if (keep || remove) {
    ImGui::CloseCurrentPopup();
    edited_.reset();
  }
}

}  // namespace app

// Choices: combo with individually disabled items, and the segmented row of exclusive options.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cfloat>
#include <functional>
#include <string_view>

#include "app/gui/controls/row.h"
#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/theme/fitted_lines.h"
#include "app/gui/theme/text.h"

namespace app::controls {
namespace {

std::string option_id(const char* id, std::size_t index) {
  return std::string(id) + "." + std::to_string(index);
}

/// How high the list of a combo at the cursor may be. ImGui puts a list that fits on neither side
/// of its row where it ends outside the window.
float list_room(const PanelContext& context) {
  const float row = ImGui::GetFrameHeight();
  const float top = ImGui::GetCursorScreenPos().y;
  const float below = ImGui::GetIO().DisplaySize.y - top - row;
  return std::max(below, top) - context.theme.px(kGap);
}

}  // namespace

bool combo(const PanelContext& context, const char* id, const char* label, int& index,
           const std::vector<std::string>& items, const Options& options,
           const std::vector<Options>& item_options) {
  Row row(context, id, label, "combo", options, true);
  const bool valid = index >= 0 && static_cast<std::size_t>(index) < items.size();
  const std::string shown = valid ? items[static_cast<std::size_t>(index)] : "";
  row.set_value(shown);
  ImGui::SetNextItemWidth(row.width());
  bool changed = false;
  // From its padding to the arrow, which is as wide as the row is high.
  const float room = row.width() - ImGui::GetFrameHeight() - ImGui::GetStyle().FramePadding.x;
  const std::string preview = fitted(ImGui::GetFont(), shown, room);
  row.set_shown(preview);
  // ImGui itself would allow the list 20 rows, wherever it is.
  constexpr float kMostRows = 20.0F;
  const float rows = kMostRows * ImGui::GetTextLineHeightWithSpacing();
  ImGui::SetNextWindowSizeConstraints({row.width(), 0},
                                      {FLT_MAX, std::min(rows, list_room(context))});
  if (!ImGui::BeginCombo(row.item_id().c_str(), preview.c_str())) return false;
  // ImGui itself closes popups with Escape only with its keyboard navigation, whose arrow keys
  // belong to the plots here.
  if (ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Escape))) ImGui::CloseCurrentPopup();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Options item = i < item_options.size() ? item_options[i] : Options{};
    const bool chosen = static_cast<int>(i) == index;
    ImGui::PushID(static_cast<int>(i));
    ImGui::BeginDisabled(!item.enabled);
    if (ImGui::Selectable(items[i].c_str(), chosen) && !chosen) {
      index = static_cast<int>(i);
      changed = true;
    }
    ImGui::EndDisabled();
    record_item(context, {.id = option_id(id, i),
                          .label = items[i],
                          .kind = "option",
                          .value = chosen ? "true" : "false",
                          .enabled = item.enabled,
                          .reason = item.enabled ? "" : item.reason});
    if (ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled)) {
      tooltip(context, item.enabled ? item.tooltip : item.reason);
    }
    if (chosen && ImGui::IsWindowAppearing()) ImGui::SetScrollHereY();
    ImGui::PopID();
  }
  ImGui::EndCombo();
  return changed;
}

namespace {

/// A row of a filtered list: an item, or a heading.
struct ListRow {
  enum class Kind : std::uint8_t { Item, Heading, Fold };
  std::size_t at = 0;  // index of its kind in the list
  Kind kind = Kind::Item;
};

bool contains_words(std::string_view text, std::string_view words) {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) ==
           std::tolower(static_cast<unsigned char>(b));
  };
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    const std::string_view word = words.substr(0, end);
    const auto found = std::search(text.begin(), text.end(), word.begin(), word.end(), same);
    if (found == text.end() && end > 0) return false;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return true;
}

bool is_open(const FilteredList& list, const Fold& fold) {
  return list.open != nullptr && list.open->contains(fold.key);
}

std::vector<ListRow> rows_of(const FilteredList& list, int chosen) {
  using enum ListRow::Kind;
  std::vector<ListRow> rows;
  std::size_t heading = 0;
  std::size_t fold = 0;
  const auto ends_before = [&list](std::size_t at, std::size_t item) {
    return at < list.headings.size() && list.headings[at].before <= item;
  };
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    // If two headings have no item between them, only the last counts.
    bool due = false;
    while (ends_before(heading, i)) due = ++heading > 0;
    if (due) rows.push_back({heading - 1, Heading});
    while (fold < list.folds.size() && list.folds[fold].first + list.folds[fold].count <= i) ++fold;
    const bool folded =
        list.filter.empty() && fold < list.folds.size() && list.folds[fold].first <= i;
    if (folded && list.folds[fold].first == i) rows.push_back({fold, Fold});
    if (folded && !is_open(list, list.folds[fold]) && static_cast<int>(i) != chosen) continue;
    if (contains_words(list.items[i], list.filter)) rows.push_back({i, Item});
  }
  // A heading that nothing matched below is left out.
  std::vector<ListRow> kept;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool empty =
        rows[i].kind == Heading && (i + 1 == rows.size() || rows[i + 1].kind == Heading);
    if (!empty) kept.push_back(rows[i]);
  }
  return kept;
}

/// A line of a list. ImGui draws it into the spacing at both sides, where it is clipped.
void record_line(const PanelContext& context, const std::string& id, const std::string& label,
                 const char* kind, const char* value) {
  const float beyond = ImGui::GetStyle().ItemSpacing.x;
  const ImVec2 min = ImGui::GetItemRectMin();
  const ImVec2 max = ImGui::GetItemRectMax();
  record(context, id.c_str(), label.c_str(), kind, value, {min.x + beyond, min.y},
         {max.x - beyond, max.y});
}

/// A click opens or closes it; the list stays.
void draw_fold(const PanelContext& context, const char* id, const FilteredList& list,
               const Fold& fold) {
  const bool open = is_open(list, fold);
  const std::string text = (open ? "- " : "+ ") + fold.text;
  ImGui::PushID(static_cast<int>(fold.first));
  const std::string shown = fitted(ImGui::GetFont(), text, ImGui::GetContentRegionAvail().x);
  const TextColorScope color(context.theme.colors.dim_text);
  if (ImGui::Selectable((shown + "##fold").c_str(), false, ImGuiSelectableFlags_DontClosePopups)) {
    if (open) list.open->erase(fold.key);
    if (!open) list.open->insert(fold.key);
  }
  if (ImGui::IsItemHovered()) tooltip(context, with_whole(shown, text));
  ImGui::PopID();
  record_line(context, fmt::format("{}.fold.{}", id, fold.first), fold.text, "fold",
              open ? "open" : "folded");
}

constexpr std::size_t kMaxListRows = 16;
constexpr float kListWidth = 560;

/// Returns the item that was chosen; -1 = none.
int draw_list(const PanelContext& context, const char* id, int index, const FilteredList& list) {
  const Theme& theme = context.theme;
  if (ImGui::IsWindowAppearing()) {
    list.filter.clear();
    ImGui::SetKeyboardFocusHere();
  }
  input_text(context, (std::string(id) + ".filter").c_str(), "##filter", list.filter,
             {.hint = "Type to find",
              .most_bytes = kMaxSearchedBytes,
              .width = ImGui::GetContentRegionAvail().x});
  // Enter in another field of the open list is that field's.
  const bool typing = ImGui::IsItemActive() || ImGui::IsItemDeactivated();
  const bool entered = typing && ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Enter));
  const std::vector<ListRow> rows = rows_of(list, index);
  if (rows.empty()) {
    show_dimmed("No choice matches");
    return -1;
  }
  const auto first = std::ranges::find(rows, ListRow::Kind::Item, &ListRow::kind);
  if (entered && first != rows.end()) return static_cast<int>(first->at);
  const float row = ImGui::GetTextLineHeightWithSpacing();
  const float height = row * static_cast<float>(std::min(rows.size(), kMaxListRows));
  const ChildScope area("##items", {0, height}, theme.colors.panel, {0, 0});
  if (ImGui::IsWindowAppearing()) {
    const auto at = std::ranges::find_if(rows, [index](const ListRow& one) {
      return one.kind == ListRow::Kind::Item && static_cast<int>(one.at) == index;
    });
    const auto above = static_cast<float>(at - rows.begin()) * row;
    if (at != rows.end()) ImGui::SetScrollY(std::max(above - 0.5F * height, 0.0F));
  }
  int chosen = -1;
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(rows.size()), row);
  while (clipper.Step()) {
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      const ListRow& one = rows[static_cast<std::size_t>(i)];
      if (one.kind == ListRow::Kind::Heading) {
        show_dimmed(list.headings[one.at].text);
        continue;
      }
      if (one.kind == ListRow::Kind::Fold) {
        draw_fold(context, id, list, list.folds[one.at]);
        continue;
      }
      const bool selected = static_cast<int>(one.at) == index;
      ImGui::PushID(static_cast<int>(one.at));
      const std::string shown =
          fitted(ImGui::GetFont(), list.items[one.at], ImGui::GetContentRegionAvail().x);
      if (ImGui::Selectable(shown.c_str(), selected)) chosen = static_cast<int>(one.at);
      if (ImGui::IsItemHovered()) tooltip(context, with_whole(shown, list.items[one.at]));
      record_line(context, option_id(id, one.at), list.items[one.at], "option",
                  selected ? "true" : "false");
      ImGui::PopID();
    }
  }
  return chosen;
}

}  // namespace

bool filtered_combo(const PanelContext& context, const char* id, const char* label, int& index,
                    const FilteredList& list, const Options& options,
                    const std::function<void()>& below) {
  int chosen = -1;
  {
    Row row(context, id, label, "combo", options, true);
    const bool valid = index >= 0 && static_cast<std::size_t>(index) < list.items.size();
    const std::string shown = valid ? list.items[static_cast<std::size_t>(index)] : "";
    row.set_value(shown);
    ImGui::SetNextItemWidth(row.width());
    const float room = row.width() - ImGui::GetFrameHeight() - ImGui::GetStyle().FramePadding.x;
    const std::string preview = fitted(ImGui::GetFont(), shown, room);
    row.set_shown(preview);
    // The child in it scrolls, the field above it and what is below it stay.
    const float wide = std::max(row.width(), context.theme.px(kListWidth));
    ImGui::SetNextWindowSizeConstraints({wide, 0}, {wide, FLT_MAX});
    if (!ImGui::BeginCombo(row.item_id().c_str(), preview.c_str())) return false;
    if (ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Escape))) ImGui::CloseCurrentPopup();
    chosen = draw_list(context, id, index, list);
    if (chosen >= 0) ImGui::CloseCurrentPopup();
    if (below) below();
    ImGui::EndCombo();
  }
  const bool changed = chosen >= 0 && chosen != index;
  if (changed) index = chosen;
  return changed;
}

bool segmented(const PanelContext& context, const char* id, int& index,
               const std::vector<std::string>& items, const Options& options,
               const std::vector<Options>& item_options) {
  if (items.empty()) return false;
  const Palette& colors = context.theme.colors;
  const float gap = 1.0F;
  const float mark = options.hazardous ? context.theme.px(14 + kGapSmall) : 0.0F;
  const float total = options.width > 0 ? options.width : ImGui::GetContentRegionAvail().x - mark;
  const std::size_t per_row =
      options.per_row > 0 ? static_cast<std::size_t>(options.per_row) : items.size();
  const float count = static_cast<float>(per_row);
  const float width = std::max((total - gap * (count - 1)) / count, context.theme.px(24));
  bool changed = false;
  // The vertical padding stays: ImGui aligns the items of a row by it.
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding,
                      {context.theme.px(2), ImGui::GetStyle().FramePadding.y});
  ImGui::BeginGroup();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool chosen = static_cast<int>(i) == index;
    if (i % per_row != 0) ImGui::SameLine(0, gap);
    ImGui::PushStyleColor(ImGuiCol_Button, chosen ? colors.accent : colors.raised);
    ImGui::PushStyleColor(ImGuiCol_ButtonHovered, chosen ? colors.accent : colors.line);
    ImGui::PushStyleColor(ImGuiCol_Text, chosen ? colors.window : colors.text);
    const std::string item = option_id(id, i);
    const Options* own = i < item_options.size() ? &item_options[i] : nullptr;
    const bool refused = own != nullptr && !own->enabled;
    // One mark for the row, drawn next to the last part.
    Options part{.enabled = options.enabled && !refused,
                 .hazardous = options.hazardous && i + 1 == items.size(),
                 .width = width};
    if (!part.enabled || part.hazardous) part.reason = refused ? own->reason : options.reason;
    {
      Row row(context, item.c_str(), items[i].c_str(), "option", part, false);
      if (ImGui::Button((items[i] + "##" + item).c_str(),
                        {row.width(), context.theme.px(kRowHeight)}) &&
          !chosen) {
        index = static_cast<int>(i);
        changed = true;
      }
      row.set_value(chosen ? "true" : "false");
      // Only for the hovered part: the sentences are long.
      if (ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled)) {
        part.tooltip = own == nullptr || own->tooltip.empty() ? options.tooltip : own->tooltip;
      }
    }
    ImGui::PopStyleColor(3);
  }
  ImGui::EndGroup();
  ImGui::PopStyleVar();
  return changed;
}

bool either(const PanelContext& context, const char* id, bool& second, const char* first_label,
            const char* second_label, const Options& options) {
  int index = second ? 1 : 0;
  const bool changed = segmented(context, id, index, {first_label, second_label}, options);
  second = index == 1;
  return changed;
}

}  // namespace app::controls

// Table drawing on ImGui's tables with a clipper.
#include "app/gui/plot/sorted_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "app/gui/controls/widgets.h"
#include "app/gui/plot/format.h"
#include "app/gui/plot/plot_text.h"
#include "app/gui/theme/fitted_lines.h"
#include "app/gui/theme/text.h"
#include "profiling/document/table.h"

namespace app::plot {

namespace {

void sort_rows(const std::vector<Column>& columns, const std::vector<TableRow>& rows,
               TableState& state) {
  state.order.resize(rows.size());
  std::iota(state.order.begin(), state.order.end(), 0);
  if (state.column < 0 || static_cast<std::size_t>(state.column) >= columns.size()) return;
  const auto column = static_cast<std::size_t>(state.column);
  const bool numeric = columns[column].numeric;
  const auto less = [&](int a, int b) {
    const Cell& left = rows[static_cast<std::size_t>(a)].cells[column];
    const Cell& right = rows[static_cast<std::size_t>(b)].cells[column];
    if (!numeric) return state.descending ? right.text < left.text : left.text < right.text;
    // NaN goes last in both directions.
    if (std::isnan(left.key) || std::isnan(right.key)) {
      return !std::isnan(left.key) && std::isnan(right.key);
    }
    return state.descending ? right.key < left.key : left.key < right.key;
  };
  std::ranges::stable_sort(state.order, less);
}

bool is_selected(const TableState& state, int index) {
  return state.most_chosen > 0 ? std::ranges::find(state.chosen, index) != state.chosen.end()
                               : state.selected == index;
}

void toggle(TableState& state, int index) {
  if (state.most_chosen == 0) {
    state.selected = state.selected == index ? -1 : index;
  } else if (std::erase(state.chosen, index) == 0) {
    state.chosen.push_back(index);
    if (state.chosen.size() > state.most_chosen) state.chosen.erase(state.chosen.begin());
  }
}

/// A numeric cell is copied as its sort key, which is the number itself, in the unit of its column
/// in the CSV.
void offer_copy(const PanelContext& context, const Column& column, const Cell& cell, ImVec2 min,
                ImVec2 max) {
  if (!controls::copy_wanted(min, max)) return;
  const bool number = column.numeric && !cell.text.empty() && !std::isnan(cell.key);
  controls::copy_number(context, number ? controls::all_digits(cell.key) : cell.text, "",
                        fmt::format("{}, shown as {}", column.title, cell.text));
}

// Widths of names, in grid pixels: a few words, below which a table scrolls, and a kernel's short
// name, below which it leaves out optional columns.
constexpr float kFewWords = 80.0F;
constexpr float kShortName = 210.0F;
constexpr float kNumber = 48.0F;  // of a number's column that takes what is left over

constexpr float kPadding = 8.0F;  // of a cell, on both sides

/// Pixels that show a column of words uncut. A table is kept when the user enlarges the text, whose
/// letters do not grow as the grid does: its widest text is measured as it is now.
float whole_of(const Theme& theme, const Column& column) {
  const float whole = theme.px(column.whole);
  if (column.widest.empty()) return whole;
  const float text = text_size(theme.fonts.body, column.widest).x;
  return std::max(whole, std::ceil(text + theme.px(column.chip)));
}

/// Pixels of a column that has a width; where that is all of its words, so are the pixels.
float pixels_of(const Theme& theme, const Column& column) {
  const bool all = !column.numeric && column.width >= column.whole;
  return all ? whole_of(theme, column) : theme.px(column.width);
}

/// Of a sentence, in grid pixels: what is longer may be cut where there are optional columns.
constexpr float kSentence = 240.0F;

/// How much of a column's words is counted: what it has in any case, up to a sentence, or all.
enum class Words { AsSet, Sentence, Whole };

float pixels_of(const Theme& theme, const Column& column, Words words) {
  const float set = pixels_of(theme, column);
  if (words == Words::AsSet || column.numeric) return set;
  const float whole = whole_of(theme, column);
  return std::max(set, words == Words::Whole ? whole : std::min(whole, theme.px(kSentence)));
}

/// With names of so many pixels.
float width_of(const Theme& theme, const std::vector<Column>& columns, float names, bool optional,
               Words words = Words::AsSet) {
  float sum = 0.0F;
  for (const Column& column : columns) {
    if (column.optional && !optional) continue;
    sum += theme.px(kPadding) + (column.width > 0.0F ? pixels_of(theme, column, words)
                                 : column.numeric    ? theme.px(kNumber)
                                                     : names);
  }
  return sum;
}

/// Of the names, or what names usually need.
float whole_names(const Theme& theme, const std::vector<Column>& columns) {
  const auto names = std::ranges::find(columns, 0.0F, &Column::width);
  const bool known = names != columns.end() && names->whole > 0.0F;
  return known ? whole_of(theme, *names) : theme.px(kShortName);
}

float row_height(const Theme& theme) { return theme.fonts.body->FontSize + theme.px(4); }

/// A name keeps both its ends, and that of work before its kernel's; a sentence its first words.
std::string fitted_cell(const ImFont* font, const Column& column, const std::string& text,
                        float width) {
  if (column.numeric) return fitted(font, text, width);
  return column.width > 0.0F ? fitted_words(font, text, width) : fitted_work(font, text, width);
}

/// A sentence that its column would cut takes the cells without a value before it, too.
struct Sentence {
  std::size_t from = 0;  // the first of these columns
  std::size_t at = 0;    // its own column; 0 = the row has none
};

Sentence sentence_of(const Theme& theme, const std::vector<Column>& columns, const TableRow& row) {
  const auto has_value = [&](std::size_t column) {
    const Cell& cell = row.cells[column];
    return columns[column].numeric ? !std::isnan(cell.key) : cell.text != profiling::kMissing;
  };
  for (std::size_t at = 2; at < columns.size(); ++at) {
    const Column& column = columns[at];
    if (column.numeric || column.width <= 0.0F || has_value(at - 1)) continue;
    const float width = text_size(theme.fonts.body, row.cells[at].text).x;
    if (width <= theme.px(column.width)) continue;
    std::size_t from = at;
    while (from > 1 && !has_value(from - 1)) --from;
    return {.from = from, .at = at};
  }
  return {};
}

/// The row's own tooltip says more than its first cell. `begin`: x from where it may be drawn; 0 =
/// its own column's.
void draw_cell(const PanelContext& context, const Column& column, const TableRow& row,
               const Cell& cell, bool first, float begin) {
  const Theme& theme = context.theme;
  const ImFont* font = column.numeric ? theme.fonts.mono : theme.fonts.body;
  ImVec2 at = ImGui::GetCursorScreenPos();
  float width = ImGui::GetContentRegionAvail().x;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const float middle = at.y + 0.5F * (ImGui::GetTextLineHeight() - font->FontSize);
  const ImU32 color = cell.color != 0 ? cell.color : theme.colors.text;
  if (first && row.chip != 0) {
    const float side = theme.px(8);
    const float top = at.y + 0.5F * (ImGui::GetTextLineHeight() - side);
    draw->AddRectFilled(ImVec2(at.x, top), ImVec2(at.x + side, top + side), row.chip, theme.px(1));
    at.x += side + theme.px(6);
    width -= side + theme.px(6);
  }
  const bool wider = begin > 0.0F;
  if (wider) {
    draw->PushClipRect(ImVec2(begin, draw->GetClipRectMin().y), draw->GetClipRectMax());
    width += at.x - begin;
    at.x = begin;
  }
  // In a table that scrolls sideways, the edge would cut "100 %" to "10".
  if (const float seen = draw->GetClipRectMax().x - at.x; seen > 0.0F)
    width = std::min(width, seen);
  offer_copy(context, column, cell, at, ImVec2(at.x + width, at.y + ImGui::GetTextLineHeight()));
  const std::string text = fitted_cell(font, column, cell.text, width);
  const bool explained = first && !row.tooltip.empty();
  if (!explained && ImGui::IsWindowHovered() &&
      ImGui::IsMouseHoveringRect(at, ImVec2(at.x + width, at.y + ImGui::GetTextLineHeight()))) {
    controls::tooltip(context, with_whole(text, cell.text));
  }
  if (column.numeric) {
    draw_text_right(draw, font, ImVec2(at.x + width, middle), color, text);
  } else {
    draw_text(draw, font, ImVec2(at.x, middle), color, text);
  }
  if (wider) draw->PopClipRect();
}

}  // namespace

std::vector<float> widths_of(const Theme& theme, const std::vector<Column>& columns, bool optional,
                             float room) {
  const auto names = std::ranges::find(columns, 0.0F, &Column::width);
  const bool known = names != columns.end() && names->whole > 0.0F;
  // A name that loses its middle can still be told from others; a sentence needs all of its words.
  const float kept = std::min(whole_names(theme, columns), theme.px(kShortName));
  float left = known ? room - width_of(theme, columns, kept, optional) : 0.0F;
  std::vector<float> widths;
  for (const Column& column : columns) {
    float& width = widths.emplace_back(pixels_of(theme, column));
    const bool cut = column.width > 0.0F && (optional || !column.optional);
    const float more =
        cut ? std::clamp(whole_of(theme, column) - width, 0.0F, std::max(0.0F, left)) : 0.0F;
    width += more;
    left -= more;
  }
  return widths;
}

ImVec2 table_needs(const Theme& theme, const std::vector<Column>& columns, std::size_t rows) {
  return {width_of(theme, columns, whole_names(theme, columns), true, Words::Whole),
          static_cast<float>(rows + 1) * row_height(theme)};
}

bool draw_table(const PanelContext& context, const char* id, const std::vector<Column>& columns,
                const std::vector<TableRow>& rows, std::uint64_t generation, ImVec2 size,
                TableState& state) {
  const Theme& theme = context.theme;
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  if (columns.empty()) return false;  // ImGui has no such table: no row has a value
  const bool optional =
      width_of(theme, columns, theme.px(kShortName), true, Words::Sentence) <= size.x;
  const float wanted = width_of(theme, columns, theme.px(kFewWords), optional);
  const bool wide = wanted > size.x;
  const ImGuiTableFlags flags = ImGuiTableFlags_Sortable | ImGuiTableFlags_ScrollY |
                                ImGuiTableFlags_BordersInnerH | ImGuiTableFlags_NoBordersInBody |
                                ImGuiTableFlags_SizingFixedFit | ImGuiTableFlags_SortTristate |
                                (wide ? ImGuiTableFlags_ScrollX : ImGuiTableFlags_None);
  // Of a table that scrolls down, the bar takes some room.
  const float height = static_cast<float>(rows.size() + 1) * row_height(theme);
  const float bar = height > size.y ? ImGui::GetStyle().ScrollbarSize : 0.0F;
  std::vector<float> widths = widths_of(theme, columns, optional, size.x - bar);
  if (context.presenting != nullptr) {
    // Over a whole screen figures would be far from the names that they belong to.
    const float needed =
        width_of(theme, columns, whole_names(theme, columns), optional, Words::Whole);
    const float share = (size.x - bar - needed) / static_cast<float>(columns.size());
    for (float& width : widths) width += std::max(share, 0.0F);
  }
  bool changed = false;
  ImGui::PushStyleVar(ImGuiStyleVar_CellPadding, ImVec2(theme.px(4), theme.px(2)));
  if (ImGui::BeginTable(id, static_cast<int>(columns.size()), flags, size, wide ? wanted : 0.0F)) {
    // The name of a row stays visible next to its figures.
    ImGui::TableSetupScrollFreeze(wide ? 1 : 0, 1);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const Column& column = columns[i];
      const bool stretch = column.width <= 0.0F;
      ImGui::TableSetupColumn(
          column.title.c_str(),
          (stretch ? ImGuiTableColumnFlags_WidthStretch : ImGuiTableColumnFlags_WidthFixed) |
              (column.optional && !optional ? ImGuiTableColumnFlags_Disabled : 0) |
              (column.numeric ? ImGuiTableColumnFlags_PreferSortDescending : 0),
          stretch ? 1.0F : widths[i]);
    }
    ImGui::PushFont(theme.fonts.label);
    ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
    for (int i = 0; i < static_cast<int>(columns.size()); ++i) {
      const Column& column = columns[static_cast<std::size_t>(i)];
      if (!ImGui::TableSetColumnIndex(i)) continue;
      ImGui::PushID(i);
      if (column.numeric) {
        // Above its figures: ImGui would align it left.
        const ImVec2 at = ImGui::GetCursorScreenPos();
        const float right = at.x + ImGui::GetContentRegionAvail().x;
        const bool sorted = state.column == i;
        ImGui::TableHeader("##title");
        draw_text_right(ImGui::GetWindowDrawList(), theme.fonts.label,
                        ImVec2(right - (sorted ? theme.px(14) : 0.0F), at.y), theme.colors.dim_text,
                        column.title);
      } else {
        ImGui::TableHeader(column.title.c_str());
      }
      ImGui::PopID();
      const ImVec2 low = ImGui::GetItemRectMin();
      const ImVec2 high = ImGui::GetItemRectMax();
      controls::record(context, fmt::format("{}.column.{}", id + 2, i).c_str(),
                       column.title.c_str(), "option", "", low, high);
      if (ImGui::IsItemHovered()) {
        controls::tooltip(context,
                          with_whole(fitted(theme.fonts.label, column.title, high.x - low.x),
                                     column.title, column.tooltip));
      }
    }
    ImGui::PopFont();
    ImGuiTableSortSpecs* specs = ImGui::TableGetSortSpecs();
    // A picture shows the order that the user chose.
    if (specs != nullptr && specs->SpecsDirty && context.picture == nullptr) {
      state.column = specs->SpecsCount > 0 ? specs->Specs[0].ColumnIndex : -1;
      state.descending =
          specs->SpecsCount > 0 && specs->Specs[0].SortDirection == ImGuiSortDirection_Descending;
      state.ordered_for = 0;
      specs->SpecsDirty = false;
    }
    if (state.ordered_for != generation || state.order.size() != rows.size()) {
      sort_rows(columns, rows, state);
      state.ordered_for = generation;
    }
    state.hovered = -1;
    bool explained = false;  // rows overlap where they meet: the upper one is under the mouse
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(rows.size()));
    while (clipper.Step()) {
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
        const int index = state.order[static_cast<std::size_t>(i)];
        const TableRow& row = rows[static_cast<std::size_t>(index)];
        ImGui::TableNextRow();
        ImGui::TableSetColumnIndex(0);
        ImGui::PushID(index);
        const ImVec2 start = ImGui::GetCursorPos();
        const bool selected = is_selected(state, index);
        if (ImGui::Selectable("##row", selected, ImGuiSelectableFlags_SpanAllColumns)) {
          toggle(state, index);
          changed = true;
        }
        // The item extends half a row's gap over its neighbours; the row itself is smaller.
        const float inset = theme.px(kGapSmall);
        const ImVec2 low = ImGui::GetItemRectMin();
        // Only the first column's part of the row: the clip rectangle is that column's.
        const ImVec2 high(
            std::min(ImGui::GetItemRectMax().x, ImGui::GetWindowDrawList()->GetClipRectMax().x),
            ImGui::GetItemRectMax().y);
        controls::record(context, fmt::format("{}.row.{}", id + 2, i).c_str(),
                         row.cells.front().text.c_str(), "option", selected ? "true" : "false",
                         ImVec2(low.x + inset, low.y + inset),
                         ImVec2(high.x - inset, high.y - inset));
        const bool hovered = ImGui::IsItemHovered() && !std::exchange(explained, true);
        if (hovered) state.hovered = index;
        if (hovered && !row.tooltip.empty()) {
          controls::record(context, fmt::format("{}.explained", id + 2).c_str(),
                           row.cells.front().text.c_str(), "text", row.tooltip, low, high);
          ImGui::BeginTooltip();
          ImGui::PushTextWrapPos(theme.px(480));
          show_text(row.tooltip);
          ImGui::PopTextWrapPos();
          ImGui::EndTooltip();
        }
        ImGui::SetCursorPos(start);
        const Sentence sentence = sentence_of(theme, columns, row);
        float begin = 0.0F;
        for (std::size_t column = 0; column < columns.size(); ++column) {
          if (!ImGui::TableSetColumnIndex(static_cast<int>(column))) continue;
          const bool of_sentence = column >= sentence.from && column <= sentence.at;
          if (sentence.at > 0 && of_sentence && begin == 0.0F) {
            begin = ImGui::GetCursorScreenPos().x;
          }
          if (sentence.at > 0 && of_sentence && column < sentence.at) continue;
          draw_cell(context, columns[column], row, row.cells[column], column == 0,
                    column == sentence.at ? begin : 0.0F);
        }
        ImGui::PopID();
      }
    }
    ImGui::EndTable();
  }
  ImGui::PopStyleVar();
  controls::record(context, id + 2, "table", "table", std::to_string(rows.size()), origin,
                   ImVec2(origin.x + size.x, origin.y + size.y));
  return changed;
}

std::string one_field(std::string text) {
  for (char& c : text) {
    if (c == '\t' || c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

}  // namespace app::plot

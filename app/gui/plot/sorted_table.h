// A table of prepared rows: sortable by every column, clipped to what is visible, figures
// right-aligned in the mono font. Sorting happens when the rows or the order change, not every
// frame.
#pragma once

#include <imgui.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/controls/panel_context.h"

namespace app::plot {

struct Column {
  std::string title{};
  float width = 0.0F;  // grid pixels; 0 = takes the rest
  bool numeric = true;
  const char* tooltip = "";
  bool optional = false;  // left out where the names would be cut
  float whole = 0.0F;     // grid pixels that show the longest text uncut; 0 = not known
  std::string widest{};   // this text, of words: letters do not grow evenly with the grid
  float chip = 0.0F;      // of `whole`, before the text
};

struct Cell {
  std::string text;
  double key = 0.0;  // sort key of numeric columns; text columns sort by their text
  ImU32 color = 0;   // 0 = the default
};

struct TableRow {
  std::vector<Cell> cells;
  ImU32 chip = 0;         // before the first cell; 0 = none
  std::string tooltip{};  // full name, if the cell may be cut
};

struct TableState {
  std::vector<int> order{};
  std::uint64_t ordered_for = 0;
  int column = -1;
  bool descending = false;
  int selected = -1;            // index into rows, not into the order
  int hovered = -1;             // the same, of the row under the mouse as last drawn
  std::size_t most_chosen = 0;  // above 0: several rows are chosen instead of one selected
  std::vector<int> chosen{};    // indices into rows; one too many drops the oldest
};

/// Pixels of each column that has a width, in a table that is `room` wide. Columns of words get
/// what names that are shown whole leave over, from left to right.
std::vector<float> widths_of(const Theme& theme, const std::vector<Column>& columns, bool optional,
                             float room);

/// Pixels that show so many rows whole.
ImVec2 table_needs(const Theme& theme, const std::vector<Column>& columns, std::size_t rows);

/// `generation` identifies the content of `rows`. Returns true when the selection changed.
bool draw_table(const PanelContext& context, const char* id, const std::vector<Column>& columns,
                const std::vector<TableRow>& rows, std::uint64_t generation, ImVec2 size,
                TableState& state);

/// An index into the `count` rows; nullopt = none is selected, or not any more.
inline std::optional<std::size_t> selected_row(const TableState& state, std::size_t count) {
  if (state.selected < 0 || std::cmp_greater_equal(state.selected, count)) return std::nullopt;
  return static_cast<std::size_t>(state.selected);
}

/// The text as one field of a tab-separated line: tabs and line breaks become spaces.
std::string one_field(std::string text);

}  // namespace app::plot

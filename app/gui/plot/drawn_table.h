// A table of profiling/document as a card draws it: widths, colours and sort keys follow from what
// its columns measure and its rows say.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/gui/plot/plot_frame.h"
#include "app/gui/plot/sorted_table.h"
#include "app/gui/theme/theme.h"
#include "profiling/document/table.h"

namespace app::plot {

class DrawnTable {
 public:
  std::vector<Column> columns{};
  std::vector<TableRow> rows{};
  profiling::Table source{};

  /// In full precision, with the columns that only files have. `order`: that of the rows, as in
  /// TableState; as made where it is of another length. What the source reads must still exist.
  std::string csv(const std::vector<int>& order) const;
  std::string text(const std::vector<int>& order) const;

 private:
  profiling::Table ordered(const std::vector<int>& order) const;
};

/// As people see it, but with whole names; separated by tabs. A line with the headings is first.
std::string tabbed_text(const profiling::Table& table);

DrawnTable drawn(profiling::Table table, const Theme& theme);

/// Chips before the lines of a read-out, by the keys of their columns.
using ChipColors = std::vector<std::pair<std::string_view, ImU32>>;
/// What a row says for a read-out: a line for each column that has a value and that people see,
/// without the first, which names the row. All rows are visited: for a read-out, which is made in
/// every frame, the table should have few.
std::vector<ReadOutLine> row_lines(const profiling::Table& table, std::size_t row,
                                   const Palette& colors, const ChipColors& chips = {});

/// Of a value that needs attention; 0 for a plain one.
ImU32 color_of(profiling::Tone tone, const Palette& colors);

}  // namespace app::plot

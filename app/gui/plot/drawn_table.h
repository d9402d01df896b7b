// A table of profiling/document as a card draws it: widths, colours and sort keys follow from what
// its columns measure and its rows say.
#pragma once

#include <string>
#include <vector>

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
  /// As people see it, but with whole names; separated by tabs.
  std::string text(const std::vector<int>& order) const;

 private:
  std::vector<profiling::Row> ordered(const std::vector<int>& order) const;
};

DrawnTable drawn(profiling::Table table, const Theme& theme);

/// Of a value that needs attention; 0 for a plain one.
ImU32 color_of(profiling::Tone tone, const Palette& colors);

}  // namespace app::plot

#include "profiling/document/document.h"

#include <algorithm>

namespace profiling {

std::vector<std::size_t> shown_columns(const Table& table, const std::vector<Row>& rows) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (!table.columns[i].for_people()) continue;
    const bool has_value = std::ranges::any_of(
        rows, [i](const Row& row) { return !row.cells[i].empty() || !row.cells[i].words.empty(); });
    if (has_value || rows.empty()) chosen.push_back(i);
  }
  return chosen;
}

ShownTable shown_table(const Table& table, std::size_t most_rows) {
  std::vector<Row> kept;
  ShownTable shown_rows;
  table.rows([&](const Row& row) {
    if (kept.size() < most_rows) {
      kept.push_back(row);
    } else {
      ++shown_rows.left_out;
    }
  });
  const std::vector<std::size_t> chosen = shown_columns(table, kept);
  for (const std::size_t i : chosen) shown_rows.columns.push_back(&table.columns[i]);
  for (const Row& row : kept) {
    std::vector<std::string>& texts = shown_rows.rows.emplace_back();
    for (const std::size_t i : chosen) texts.push_back(shown(table.columns[i], row.cells[i]));
  }
  return shown_rows;
}

}  // namespace profiling

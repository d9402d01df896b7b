#include "profiling/document/document.h"

#include <algorithm>

namespace profiling {

namespace {

/// `visit` calls what it is given with every row.
template <class Visit>
std::vector<std::size_t> valued_columns(const Table& table, const Visit& visit) {
  std::vector<bool> valued(table.columns.size());
  bool any = false;
  visit([&](const Row& row) {
    any = true;
    for (std::size_t i = 0; i < valued.size(); ++i) {
      if (!row.cells[i].empty() || !row.cells[i].words.empty()) valued[i] = true;
    }
  });
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < valued.size(); ++i) {
    if (table.columns[i].for_people() && (valued[i] || !any)) chosen.push_back(i);
  }
  return chosen;
}

}  // namespace

std::vector<std::size_t> shown_columns(const Table& table, const std::vector<Row>& rows) {
  return valued_columns(table, [&rows](const auto& use) { std::ranges::for_each(rows, use); });
}

std::vector<std::size_t> shown_columns(const Table& table) {
  return valued_columns(table, table.rows);
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

#include "profiling/export/csv_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/model/leaves.h"

namespace profiling {
namespace {

std::string cell_text(const engine::Leaf& leaf) {
  if (leaf.type.kind == engine::Kind::Bool) {
    return fmt::to_string(engine::signed_number(leaf.type, leaf.value));
  }
  std::string text = engine::text_of(leaf.type, leaf.value);
  if (leaf.type.kind != engine::Kind::List) return text;
  std::string numbers;  // "[1, 2]" as "1 2"
  for (const char c : text) {
    if (c != '[' && c != ']' && c != ',') numbers += c;
  }
  return numbers;
}

}  // namespace

CsvColumns::CsvColumns(const engine::Type& type, std::string_view prefix) : type_(type) {
  for (engine::Leaf& leaf : engine::leaves_of(type)) {
    names_.push_back(fmt::format("{}{}", prefix, leaf.path));
    column_of_.emplace(std::move(leaf.path), column_of_.size());
  }
}

std::string CsvColumns::header() const { return fmt::format("{}", fmt::join(names_, ",")); }

std::vector<std::string> CsvColumns::cells(const void* record) const {
  std::vector<std::string> cells(names_.size());
  engine::for_each_leaf(type_, record, [&](const engine::Leaf& leaf) {
    const auto column = column_of_.find(leaf.path);
    if (column != column_of_.end()) cells[column->second] = cell_text(leaf);
  });
  return cells;
}

}  // namespace profiling

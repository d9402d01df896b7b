#include "profiling/document/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "engine/model/leaves.h"
#include "engine/model/snr_words.h"
#include "engine/model/values.h"
#include "profiling/document/quantity.h"
#include "profiling/trace/statistics.h"

namespace profiling {
namespace {

std::string factor_text(double value) {
  return std::isfinite(value) ? fmt::format("{:.2f}", value) : number_text(value);
}

std::string number_words(Measure measure, double value, std::uint64_t left_out, int decimals) {
  switch (measure) {
    case Measure::Words:
    case Measure::Number:
      return number_text(value);
    case Measure::Count:
      return fmt::format("{:.0f}", value);
    case Measure::Time:
      return duration_text(value);
    case Measure::Decibels:
      return engine::snr_text(value, left_out, decimals);
    case Measure::Bytes:
      return std::isfinite(value) ? bytes_text(static_cast<std::uint64_t>(std::max(value, 0.0)))
                                  : number_text(value);
    case Measure::Flop:
      return si_text(value);
    case Measure::FlopRate:
      return flop_rate(value).text();
    case Measure::Share:
      return share_text(value, 1.0);
    case Measure::Factor:
      return factor_text(value);
    case Measure::Address:
      return fmt::format("{:#x}", static_cast<std::uint64_t>(value));
  }
  return {};
}

std::string leaf_text(const engine::Leaf& leaf) {
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

double Cell::number() const {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* count = std::get_if<std::uint64_t>(&value)) return static_cast<double>(*count);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return kNaN;
}

Cell worded(Cell cell, std::string words) {
  cell.words = std::move(words);
  return cell;
}

Cell toned(Cell cell, Tone tone) {
  cell.tone = tone;
  return cell;
}

Table table_of(std::string name, std::vector<Column> columns, std::vector<Row> rows) {
  auto held = std::make_shared<const std::vector<Row>>(std::move(rows));
  return {
      .name = std::move(name), .columns = std::move(columns), .rows = [held](const RowSink& sink) {
        for (const Row& row : *held) sink(Row(row));
      }};
}

std::vector<Row> all_rows(const Table& table) {
  std::vector<Row> rows;
  table.rows([&](const Row& row) { rows.push_back(row); });
  return rows;
}

std::string shown(const Column& column, const Cell& cell, int decimals) {
  if (!cell.words.empty()) return cell.words;
  if (cell.empty()) return kMissing;
  if (const std::string* const text = cell.text()) return *text;
  if (column.measure == Measure::Address) {
    if (const auto* address = std::get_if<std::uint64_t>(&cell.value)) {
      return fmt::format("{:#x}", *address);
    }
  }
  if (column.measure == Measure::Count) {
    if (const auto* count = std::get_if<std::uint64_t>(&cell.value)) return count_text(*count);
    if (const auto* whole = std::get_if<std::int64_t>(&cell.value)) {
      return count_text(*whole);
    }
  }
  return number_words(column.measure, cell.number(), cell.left_out, decimals);
}

void add_time_columns(std::vector<Column>& columns) {
  const auto add = [&columns](const char* key, const char* title, const char* tooltip,
                              ColumnUse use = ColumnUse::Everywhere) {
    columns.push_back(
        {.key = key, .title = title, .measure = Measure::Time, .tooltip = tooltip, .use = use});
  };
  columns.push_back({.key = "n", .measure = Measure::Count, .tooltip = "Samples"});
  add("median_ns", "median", "Median duration");
  add("p5_ns", "p5", "5 of 100 samples are no longer than this", ColumnUse::Files);
  add("p95_ns", "p95", "95 of 100 samples are no longer than this");
  add("minimum_ns", "minimum", "", ColumnUse::Files);
  add("maximum_ns", "maximum", "", ColumnUse::Files);
  add("sum_ns", "sum", "Summed duration");
}

void add_time_cells(std::vector<Cell>& cells, const Distribution& time) {
  cells.emplace_back(time.n);
  for (const double ns : {time.median, time.p5, time.p95, time.minimum, time.maximum, time.sum}) {
    cells.emplace_back(ns);
  }
}

FieldColumns::FieldColumns(const engine::Type& type, std::string_view prefix) : type_(type) {
  for (const engine::Leaf& leaf : engine::leaves_of(type)) {
    column_of_.emplace(leaf.path, keys_.size());
    keys_.push_back(fmt::format("{}{}", prefix, leaf.path));
  }
}

void FieldColumns::add_columns(std::vector<Column>& columns) const {
  for (const std::string& key : keys_) {
    columns.push_back({.key = key, .use = ColumnUse::Files});
  }
}

void FieldColumns::add_cells(std::vector<Cell>& cells, const void* record) const {
  const std::size_t first = cells.size();
  cells.resize(first + keys_.size());
  engine::for_each_leaf(type_, record, [&](const engine::Leaf& leaf) {
    const auto column = column_of_.find(leaf.path);
    if (column != column_of_.end()) cells[first + column->second] = Cell(leaf_text(leaf));
  });
}

}  // namespace profiling

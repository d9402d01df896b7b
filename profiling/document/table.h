// Tables as data: columns that say what they measure, and rows of typed values. The command line,
// the shared page, CSV files and the window's cards render the same tables, each in its own way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "engine/model/fields.h"
#include "engine/model/stage.h"

namespace profiling {

struct Distribution;

/// What the values of a column are: their unit in files, and how people see them.
enum class Measure : std::uint8_t {
  Words,
  Number,    // four significant digits
  Count,     // whole number
  Time,      // ns; with the unit that fits
  Decibels,  // SNR
  Bytes,     // with the unit that fits
  Flop,      // with a decimal prefix
  FlopRate,  // FLOP/s
  Share,     // of 1; percent
  Factor,    // a ratio of two values of one kind: "1.07"
  Address,   // hexadecimal
};

enum class Tone : std::uint8_t { Plain, Good, Warning, Bad, Dim };

/// One value. A missing one is empty in files, and a dash for people.
struct Cell {
  /// Numbers alone: what cannot fail to be copied.
  using Number = std::variant<std::monostate, std::int64_t, std::uint64_t, double>;

  Cell() = default;
  Cell(std::string text) : content(std::move(text)), is_text(true) {}
  Cell(std::string_view text) : Cell(std::string(text)) {}
  Cell(const char* text) : Cell(std::string(text)) {}
  template <class Whole>
    requires std::is_integral_v<Whole>
  Cell(Whole whole) {
    if constexpr (std::is_signed_v<Whole>) {
      value = static_cast<std::int64_t>(whole);
    } else {
      value = static_cast<std::uint64_t>(whole);
    }
  }
  Cell(double real) : value(real) {}

  bool empty() const { return !is_text && std::holds_alternative<std::monostate>(value); }
  /// Null for a number and for a missing value.
  const std::string* text() const { return is_text ? &content : nullptr; }
  /// NaN of words and of a missing value.
  double number() const;

  Number value;
  std::string content{};
  bool is_text = false;
  std::string words{};         // shown to people instead of the value; empty = the value
  std::uint64_t left_out = 0;  // elements that an SNR ignores; people are told beside it
  Tone tone = Tone::Plain;
};

/// An SNR that says how many elements it leaves out.
template <class Measured>
Cell snr_cell(const Measured& measured)
  requires requires { measured.left_out(); }
{
  Cell cell(measured.snr_db);
  cell.left_out = measured.left_out();
  return cell;
}
/// The cells of a row, each made where it stays.
template <class... Values>
void add_cells(std::vector<Cell>& cells, Values&&... values) {
  (cells.emplace_back(std::forward<Values>(values)), ...);
}
template <class... Values>
std::vector<Cell> cells_of(Values&&... values) {
  std::vector<Cell> cells;
  cells.reserve(sizeof...(values));
  add_cells(cells, std::forward<Values>(values)...);
  return cells;
}
/// With words for people, such as a value that a file has in full.
Cell worded(Cell cell, std::string words);
Cell toned(Cell cell, Tone tone);

/// Where a column is of use.
enum class ColumnUse : std::uint8_t {
  Everywhere,
  WideViews,  // left out of a narrow card
  Files,      // only in CSV
  People,     // only for people: files have its content in other columns
  WidePeople,
};

struct Column {
  std::string key{};  // header in CSV: "median_ns"; a column for people may have one to be found by
  std::string title{};  // for people: "median"; empty = the key with blanks
  Measure measure = Measure::Words;
  const char* tooltip = "";
  ColumnUse use = ColumnUse::Everywhere;

  bool numeric() const { return measure != Measure::Words; }
  bool for_people() const { return use != ColumnUse::Files; }
  bool for_files() const { return use != ColumnUse::People && use != ColumnUse::WidePeople; }
  /// Left out of a narrow view.
  bool optional() const { return use == ColumnUse::WideViews || use == ColumnUse::WidePeople; }
  const std::string& heading() const { return title.empty() ? key : title; }
};

/// What people see where a cell has no value.
inline constexpr const char* kMissing = "–";

struct Row {
  std::vector<Cell> cells{};
  std::optional<engine::Stage> stage{};  // colours the row
  Tone tone = Tone::Plain;               // likewise, of a row without a stage
  std::string full_name{};               // of the row, where its first cell is shortened
};

using RowSink = std::function<void(const Row&)>;

struct Table {
  std::string name{};   // of its file, and of its control in the window: "kernels"
  std::string title{};  // a sentence or a few words before it; may be empty
  std::vector<Column> columns{};
  /// Visits the rows in order. What it reads must outlive the table.
  std::function<void(const RowSink&)> rows{};
  std::string note{};           // after it: how to read it
  bool only_with_rows = false;  // without any it has no file
  bool folded = false;          // a page shows it after a click, a terminal not at all
};

/// Rows held in memory.
Table table_of(std::string name, std::vector<Column> columns, std::vector<Row> rows);
std::vector<Row> all_rows(const Table& table);

/// Text of the value for people, with its unit. `decimals`: of decibels.
std::string shown(const Column& column, const Cell& cell, int decimals = 2);

// ---- Columns that several tables have ----------------------------------------------------------

/// n, median_ns, p5_ns, p95_ns, minimum_ns, maximum_ns, sum_ns; people see n, median, p95 and sum.
void add_time_columns(std::vector<Column>& columns);
void add_time_cells(std::vector<Cell>& cells, const Distribution& time);

/// One column per leaf of a described type, named by its path, for files. Lists of records have
/// tables of their own.
class FieldColumns {
 public:
  /// `prefix` comes before each path: "device.".
  explicit FieldColumns(const engine::Type& type, std::string_view prefix = {});

  void add_columns(std::vector<Column>& columns) const;
  /// One cell per column: bool as 1 or 0, the numbers of a list separated by spaces, missing for
  /// the fields of alternatives that are not selected.
  void add_cells(std::vector<Cell>& cells, const void* record) const;

 private:
  const engine::Type& type_;
  std::vector<std::string> keys_;
  std::map<std::string, std::size_t> column_of_;  // by path
};

}  // namespace profiling

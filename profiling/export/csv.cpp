#include "profiling/export/csv.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>
#include <utility>

namespace profiling {
namespace {

constexpr std::size_t kFlushBytes = std::size_t{1} << 20;

class Line {
 public:
  explicit Line(std::string& text) : text_(text) {}
  ~Line() { text_ += "\r\n"; }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  void add_words(std::string_view words) {
    separate();
    if (words.find_first_of("\",\r\n") == std::string_view::npos) {
      text_ += words;
      return;
    }
    text_ += '"';
    for (const char c : words) {
      if (c == '"') text_ += '"';
      text_ += c;
    }
    text_ += '"';
  }
  void add(const Cell& cell) {
    if (const std::string* const words = cell.text()) return add_words(*words);
    separate();
    std::visit(
        [this](const auto& value) {
          using Value = std::decay_t<decltype(value)>;
          // Shortest text that parses to the same number; nan and inf as pandas reads them.
          if constexpr (std::is_arithmetic_v<Value>) {
            fmt::format_to(std::back_inserter(text_), "{}", value);
          }
        },
        cell.value);
  }

 private:
  void separate() {
    if (!first_) text_ += ',';
    first_ = false;
  }
  std::string& text_;
  bool first_ = true;
};

void add_header(const std::vector<std::string>& owner, const Table& table, std::string& text) {
  Line line(text);
  for (const std::string& key : owner) line.add_words(key);
  for (const Column& column : table.columns) {
    if (column.for_files()) line.add_words(column.key);
  }
}

void add_row(const std::vector<Cell>& owner, const Table& table, const Row& row,
             std::string& text) {
  Line line(text);
  for (const Cell& cell : owner) line.add(cell);
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].for_files()) line.add(row.cells.at(i));
  }
}

}  // namespace

std::string csv_text(const Table& table) {
  std::string text;
  add_header({}, table, text);
  table.rows([&](const Row& row) { add_row({}, table, row, text); });
  return text;
}

CsvFile::CsvFile(std::string path, std::vector<std::string> owner)
    : path_(std::move(path)), owner_(std::move(owner)) {}

engine::Status CsvFile::add(const Table& table, const std::vector<Cell>& owner) {
  if (!file_) {
    ENGINE_ASSIGN(ReplacedFile file, ReplacedFile::create(path_));
    file_.emplace(std::move(file));
    add_header(owner_, table, text_);
  }
  table.rows([&](const Row& row) {
    add_row(owner, table, row, text_);
    has_rows_ = true;
    if (text_.size() >= kFlushBytes) flush();
  });
  return {};
}

engine::Status CsvFile::commit(bool only_with_rows) {
  if (!file_ || (only_with_rows && !has_rows_)) return {};
  flush();
  return file_->commit();
}

void CsvFile::flush() {
  file_->write(text_);
  text_.clear();
}

}  // namespace profiling

// Builds one CSV table. Quoted according to RFC 4180, numbers in full precision, empty where a
// value does not exist; a described type's fields are columns.
#pragma once

#include <fmt/format.h>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/model/error.h"
#include "engine/model/values.h"
#include "profiling/export/replaced_file.h"
#include "profiling/session/session_file.h"

namespace profiling {

// The fields of a described type as columns of a CSV table: a field added to the type automatically
// becomes a column.

/// One column per leaf, named by its path. Lists of records have their own tables.
class CsvColumns {
 public:
  /// `prefix` comes before each path: "device.".
  explicit CsvColumns(const engine::Type& type, std::string_view prefix = {});

  std::string header() const;
  /// One cell per column: bool as 1 or 0, the numbers of a list separated by spaces, empty for the
  /// fields of unselected alternatives.
  std::vector<std::string> cells(const void* record) const;

 private:
  const engine::Type& type_;
  std::vector<std::string> names_;
  std::map<std::string, std::size_t> column_of_;  // by path
};

/// Cells from left to right, then end_row(). Kept as text unless there is a file.
class CsvTable {
 public:
  explicit CsvTable(std::string_view header, ReplacedFile* file = nullptr)
      : file_(file), text_(header) {
    text_ += "\r\n";
  }

  CsvTable& cell(std::string_view value) {
    separate();
    if (value.find_first_of("\",\r\n") == std::string_view::npos) {
      text_ += value;
      return *this;
    }
    text_ += '"';
    for (const char c : value) {
      if (c == '"') text_ += '"';
      text_ += c;
    }
    text_ += '"';
    return *this;
  }
  template <class Number>
    requires std::is_arithmetic_v<Number>
  CsvTable& cell(Number value) {
    separate();
    // Shortest text that parses to the same number; nan and inf as pandas reads them.
    fmt::format_to(std::back_inserter(text_), "{}", value);
    return *this;
  }
  CsvTable& cells(const std::vector<std::string>& values) {
    for (const std::string& value : values) cell(value);
    return *this;
  }
  CsvTable& empty(int cells = 1) {
    for (int i = 0; i < cells; ++i) separate();
    return *this;
  }
  void end_row() {
    text_ += "\r\n";
    first_in_row_ = true;
    if (file_ != nullptr && text_.size() >= kFlushBytes) flush();
  }
  void flush() {
    file_->write(text_);
    text_.clear();
  }
  std::string take() { return std::move(text_); }

 private:
  static constexpr std::size_t kFlushBytes = std::size_t{1} << 20;

  void separate() {
    if (!first_in_row_) text_ += ',';
    first_in_row_ = false;
  }

  ReplacedFile* file_;
  std::string text_;
  bool first_in_row_ = true;
};

/// Writes the whole file or nothing.
template <class Write>
engine::Status write_csv(const std::filesystem::path& path, std::string_view header,
                         const Session& session, Write write) {
  ENGINE_ASSIGN(ReplacedFile file, ReplacedFile::create(path.string()));
  CsvTable table(header, &file);
  write(session, table);
  table.flush();
  return file.commit();
}

// What the window derives from the records of a run, and the run's smaller tables, as CSV.

/// iterations.csv, kernels.csv, stage_times.csv (FLOP and bytes where they are counted, see
/// profiling/trace/roofline.h), expert_times.csv (per stage), splits.csv, recorded_steps.csv and
/// recorded_splits.csv (of a recorded routing), graph_nodes.csv, step_graphs.csv (of steps captured
/// as several graphs), replay_checks.csv, tensors.csv, operands.csv, operand_experts.csv and
/// histograms.csv (of those tensors that products read), error_sources.csv (of expert layers).
engine::Status export_run_csv(const Session& session, const std::filesystem::path& folder);

// The graph doctor's results as CSV.

/// findings.csv if there are visits, snapshot_nodes.csv if there are captured graphs.
engine::Status export_doctor_csv(const Session& session, const std::filesystem::path& folder);

}  // namespace profiling

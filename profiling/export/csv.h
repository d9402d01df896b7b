// Tables as CSV: quoted according to RFC 4180, numbers in full precision, empty where a value does
// not exist.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/error.h"
#include "profiling/document/table.h"
#include "profiling/export/replaced_file.h"

namespace profiling {

/// Header and rows of one table.
std::string csv_text(const Table& table);

/// A file of several tables with the same columns, such as those of all runs: each row begins with
/// what it belongs to. Written whole or not at all.
class CsvFile {
 public:
  /// `owner`: keys of the cells before those of a table, "run".
  CsvFile(std::string path, std::vector<std::string> owner);

  engine::Status add(const Table& table, const std::vector<Cell>& owner);
  /// A file whose tables had no rows has a header only; it does not exist if `only_with_rows`.
  engine::Status commit(bool only_with_rows);

 private:
  void flush();

  std::string path_;
  std::vector<std::string> owner_;
  std::optional<ReplacedFile> file_;
  std::string text_;
  bool has_rows_ = false;
};

}  // namespace profiling

// The fields of a described type as columns of a CSV table: a field added to the type automatically
// becomes a column.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/values.h"

namespace profiling {

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

}  // namespace profiling

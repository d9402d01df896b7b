// The fields of a described type as columns of a CSV table: a field that is added to the type is a
// column at once.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/values.h"

namespace profiling {

/// A column for each leaf, called by its path. Lists of records have tables of their own.
class CsvColumns {
 public:
  /// `prefix` comes before each path: "device.".
  explicit CsvColumns(const engine::Type& type, std::string_view prefix = {});

  std::string header() const;
  /// A cell for each column: bool as 1 or 0, numbers of a list behind each other, empty for what
  /// an alternative that is not chosen has.
  std::vector<std::string> cells(const void* record) const;

 private:
  const engine::Type& type_;
  std::vector<std::string> names_;
  std::map<std::string, std::size_t> column_of_;  // by path
};

}  // namespace profiling

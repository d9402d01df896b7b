// Inserts rows of a session file.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/error.h"
#include "profiling/session/sqlite_handle.h"

namespace profiling {

struct Target {
  sqlite3* database = nullptr;
  const std::string& path;
};

/// Inserts whole rows into one table. Keeps the first error; rows after it are not tried.
class TableWriter {
 public:
  TableWriter(const Target& target, const char* table, int columns) {
    std::string places = "?";
    for (int i = 1; i < columns; ++i) places += ",?";
    auto statement = Statement::prepare(target.database, target.path,
                                        fmt::format("INSERT INTO {} VALUES({})", table, places));
    if (statement.ok()) {
      statement_ = std::move(statement).value();
    } else {
      status_ = statement.error();
    }
  }

  template <class... Values>
  void row(const Values&... values) {
    if (!status_.ok()) return;
    (bind(values), ...);
    status_ = statement_.execute();
  }
  engine::Status take() { return std::move(status_); }

 private:
  void bind(std::nullptr_t) { statement_.null(); }
  void bind(std::integral auto value) { statement_.integer(static_cast<std::int64_t>(value)); }
  void bind(double value) { statement_.real(value); }
  void bind(std::string_view value) { statement_.text(value); }
  void bind(const std::vector<std::byte>& value) { statement_.blob(value); }

  Statement statement_;
  engine::Status status_;
};

}  // namespace profiling

// Reads rows of an untrusted table: every cell states its type and range, and the first that is
// wrong ends the reading with a sentence naming file, table, row, column, value and limit.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "engine/model/error.h"
#include "profiling/session/sqlite_handle.h"

namespace profiling {

/// What a file may make this process allocate.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::int64_t bytes) : left_(bytes), limit_(bytes) {}
  bool take(std::size_t bytes) {
    left_ -= static_cast<std::int64_t>(bytes);
    return left_ >= 0;
  }
  std::int64_t limit() const { return limit_; }

 private:
  std::int64_t left_;
  std::int64_t limit_;
};

class RowReader {
 public:
  static constexpr std::int64_t kAnyHigh = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t kAnyLow = std::numeric_limits<std::int64_t>::min();

  /// `bytes_per_row` is what a row costs in memory, its texts and blobs apart.
  RowReader(sqlite3* database, const std::string& path, const char* table, const char* query,
            MemoryBudget& budget, std::size_t bytes_per_row);

  /// Steps to the next row; false at the end and after an error.
  bool next();

  // Cells of the row from left to right. After an error they return the lowest legal value.
  template <class Integer>
  Integer integer(const char* column, std::int64_t low, std::int64_t high) {
    return static_cast<Integer>(checked_integer(column, low, high));
  }
  std::int64_t count(const char* column) { return checked_integer(column, 0, kAnyHigh); }
  double real(const char* column);
  double real_or_nan(const char* column);  // NULL is NaN
  /// Words for a person: as engine::shown_text() makes them.
  std::string text(const char* column);
  /// As it stands: a document, or what is compared.
  std::string exact_text(const char* column);
  std::span<const std::byte> blob(const char* column);  // until the next step
  /// The index of the text among `allowed`.
  std::size_t choice(const char* column, std::span<const std::string_view> allowed);

  void refuse(const std::string& why);
  bool ok() const { return status_.ok(); }
  engine::Status take() { return std::move(status_); }

 private:
  std::int64_t checked_integer(const char* column, std::int64_t low, std::int64_t high);
  void refuse_type(const char* column, const char* wanted);

  std::string path_;
  const char* table_;
  Statement statement_;
  engine::Status status_;
  MemoryBudget& budget_;
  std::size_t bytes_per_row_;
  std::int64_t row_ = 0;
  int column_ = 0;
};

}  // namespace profiling

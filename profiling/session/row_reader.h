// Reads rows of an untrusted table: every cell is checked for its type and range; the first wrong
// one ends the reading with a sentence naming file, table, row, column, value and limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/error.h"
#include "profiling/session/sqlite_handle.h"

namespace profiling {

// Bytes, zstd-compressed.

/// Empty for empty.
std::vector<std::byte> compress_bytes(std::span<const std::byte> bytes);

// Both fail with a phrase that completes "the blob ...".

/// The size that the blob declares, to be checked before allocating: a few bytes of zstd can
/// declare terabytes.
engine::Result<std::size_t> content_bytes(std::span<const std::byte> blob);
/// Into a target of content_bytes().
engine::Status decompress_bytes(std::span<const std::byte> blob, std::span<std::byte> target);

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

  /// `bytes_per_row`: memory of a row, without its texts and blobs.
  RowReader(sqlite3* database, const std::string& path, std::string table, const std::string& query,
            MemoryBudget& budget, std::size_t bytes_per_row);

  /// Steps to the next row; false at the end and after an error.
  bool next();

  // Cells by their place in the query; `name` is for the refusal. After one they return the lowest
  // legal value.
  std::int64_t integer(int cell, std::string_view name, std::int64_t low = kAnyLow,
                       std::int64_t high = kAnyHigh) {
    if (sqlite3_column_type(statement_.get(), cell) == SQLITE_INTEGER) {
      const std::int64_t value = sqlite3_column_int64(statement_.get(), cell);
      if (value >= low && value <= high) return value;
    }
    refuse_integer(cell, name, low, high);
    return low;
  }
  double real_or_nan(int cell, std::string_view name);  // NULL is NaN
  /// For display: made safe by engine::shown_text().
  std::string text(int cell, std::string_view name);
  /// Unchanged: a document, or a text that is compared.
  std::string exact_text(int cell, std::string_view name);
  std::span<const std::byte> blob(int cell, std::string_view name);  // until the next step

  /// Takes from the budget; refuses the row if it is exhausted.
  bool take(std::size_t bytes);
  void refuse(const std::string& why);
  bool ok() const { return status_.ok(); }
  engine::Status take_status() { return std::move(status_); }

 private:
  void refuse_integer(int cell, std::string_view name, std::int64_t low, std::int64_t high);
  bool has_type(int cell, std::string_view name, int type, const char* wanted);

  std::string path_;
  std::string table_;
  Statement statement_;
  engine::Status status_;
  MemoryBudget& budget_;
  std::size_t bytes_per_row_;
  std::int64_t row_ = 0;
};

}  // namespace profiling

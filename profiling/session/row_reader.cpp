// The declared column types are not believed: a damaged file can hold any type anywhere.
#include "profiling/session/row_reader.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "engine/model/text.h"
#include "profiling/session/schema.h"

namespace profiling {
namespace {

const char* type_name(int type) {
  switch (type) {
    case SQLITE_INTEGER:
      return "an integer";
    case SQLITE_FLOAT:
      return "a real";
    case SQLITE_TEXT:
      return "a text";
    case SQLITE_BLOB:
      return "a blob";
    default:
      return "NULL";
  }
}

}  // namespace

RowReader::RowReader(sqlite3* database, const std::string& path, std::string table,
                     const std::string& query, MemoryBudget& budget, std::size_t bytes_per_row)
    : path_(path), table_(std::move(table)), budget_(budget), bytes_per_row_(bytes_per_row) {
  auto statement = Statement::prepare(database, path, query);
  if (statement.ok()) {
    statement_ = std::move(statement).value();
  } else {
    status_ = statement.error();
  }
}

bool RowReader::next() {
  if (!ok()) return false;
  const engine::Result<bool> row = statement_.next();
  if (!row.ok()) {
    status_ = engine::Error{row.error().code, fmt::format("{} (table {}, after {} rows)",
                                                          row.error().message, table_, row_)};
    return false;
  }
  if (!row.value()) return false;
  ++row_;
  return take(bytes_per_row_);
}

bool RowReader::take(std::size_t bytes) {
  if (!budget_.take(bytes)) {
    refuse(fmt::format("the file needs more memory than the limit of {} bytes", budget_.limit()));
  }
  return ok();
}

void RowReader::refuse(const std::string& why) {
  if (!ok()) return;
  status_ = engine::Error{engine::ErrorCode::InvalidArgument,
                          fmt::format("{}: table {}, row {}: {}", path_, table_, row_, why)};
}

bool RowReader::has_type(int cell, std::string_view name, int type, const char* wanted) {
  const int found = sqlite3_column_type(statement_.get(), cell);
  if (found == type) return true;
  refuse(fmt::format("{} is {} where {} belongs", name, type_name(found), wanted));
  return false;
}

std::int64_t RowReader::integer(int cell, std::string_view name, std::int64_t low,
                                std::int64_t high) {
  if (!has_type(cell, name, SQLITE_INTEGER, "an integer")) return low;
  const std::int64_t value = sqlite3_column_int64(statement_.get(), cell);
  if (value >= low && value <= high) return value;
  refuse(fmt::format("{} is {}; it must be between {} and {}", name, value, low, high));
  return low;
}

double RowReader::real_or_nan(int cell, std::string_view name) {
  if (sqlite3_column_type(statement_.get(), cell) == SQLITE_NULL) return std::nan("");
  if (!has_type(cell, name, SQLITE_FLOAT, "a real")) return 0.0;
  return sqlite3_column_double(statement_.get(), cell);
}

std::string RowReader::text(int cell, std::string_view name) {
  return engine::shown_text(exact_text(cell, name));
}

std::string RowReader::exact_text(int cell, std::string_view name) {
  if (!has_type(cell, name, SQLITE_TEXT, "a text")) return {};
  const auto* first = reinterpret_cast<const char*>(
      sqlite3_column_text(statement_.get(), cell));  // before _bytes, as SQLite documents
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), cell));
  if (first == nullptr) {
    refuse(fmt::format("{} could not be read", name));
    return {};
  }
  if (size > kMaxTextCellBytes) {
    refuse(fmt::format("{} has {} bytes; the limit is {}", name, size, kMaxTextCellBytes));
    return {};
  }
  if (!engine::is_clean_text({first, size})) {
    refuse(fmt::format("{} is not valid UTF-8 text without NUL", name));
    return {};
  }
  if (!take(size)) return {};
  return {first, size};
}

std::span<const std::byte> RowReader::blob(int cell, std::string_view name) {
  if (!has_type(cell, name, SQLITE_BLOB, "a blob")) return {};
  const auto* first = static_cast<const std::byte*>(sqlite3_column_blob(statement_.get(), cell));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), cell));
  if (first == nullptr) return {};
  return {first, size};
}

}  // namespace profiling

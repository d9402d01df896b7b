// The declared column types are not believed: a damaged file can hold any type anywhere.
#include "profiling/session/row_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/model/text.h"

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

RowReader::RowReader(sqlite3* database, const std::string& path, const char* table,
                     const char* query, MemoryBudget& budget, std::size_t bytes_per_row)
    : path_(path), table_(table), budget_(budget), bytes_per_row_(bytes_per_row) {
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
  column_ = 0;
  if (!budget_.take(bytes_per_row_)) {
    refuse(fmt::format("the file needs more memory than the limit of {} bytes", budget_.limit()));
  }
  return ok();
}

void RowReader::refuse(const std::string& why) {
  if (!ok()) return;
  status_ = engine::Error{engine::ErrorCode::InvalidArgument,
                          fmt::format("{}: table {}, row {}: {}", path_, table_, row_, why)};
}

void RowReader::refuse_type(const char* column, const char* wanted) {
  const int type = sqlite3_column_type(statement_.get(), column_);
  refuse(fmt::format("{} is {} where {} belongs", column, type_name(type), wanted));
}

std::int64_t RowReader::checked_integer(const char* column, std::int64_t low, std::int64_t high) {
  if (sqlite3_column_type(statement_.get(), column_) != SQLITE_INTEGER) {
    refuse_type(column, "an integer");
    return low;
  }
  const std::int64_t value = sqlite3_column_int64(statement_.get(), column_++);
  if (value >= low && value <= high) return value;
  refuse(fmt::format("{} is {}; it must be between {} and {}", column, value, low, high));
  return low;
}

double RowReader::real(const char* column) {
  if (sqlite3_column_type(statement_.get(), column_) != SQLITE_FLOAT) {
    refuse_type(column, "a real");
    return 0.0;
  }
  return sqlite3_column_double(statement_.get(), column_++);
}

double RowReader::real_or_nan(const char* column) {
  if (sqlite3_column_type(statement_.get(), column_) == SQLITE_NULL) {
    ++column_;
    return std::nan("");
  }
  return real(column);
}

std::string RowReader::text(const char* column) { return engine::shown_text(exact_text(column)); }

std::string RowReader::exact_text(const char* column) {
  if (sqlite3_column_type(statement_.get(), column_) != SQLITE_TEXT) {
    refuse_type(column, "a text");
    return {};
  }
  const auto* first = reinterpret_cast<const char*>(
      sqlite3_column_text(statement_.get(), column_));  // before _bytes, as SQLite documents
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column_++));
  if (first == nullptr) {
    refuse(fmt::format("{} could not be read", column));
    return {};
  }
  if (!engine::is_clean_text({first, size})) {
    refuse(fmt::format("{} is not valid UTF-8 text without NUL", column));
    return {};
  }
  if (!budget_.take(size)) {
    refuse(fmt::format("the file needs more memory than the limit of {} bytes", budget_.limit()));
    return {};
  }
  return {first, size};
}

std::span<const std::byte> RowReader::blob(const char* column) {
  if (sqlite3_column_type(statement_.get(), column_) != SQLITE_BLOB) {
    refuse_type(column, "a blob");
    return {};
  }
  const auto* first = static_cast<const std::byte*>(sqlite3_column_blob(statement_.get(), column_));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column_++));
  if (first == nullptr) return {};
  return {first, size};
}

std::size_t RowReader::choice(const char* column, std::span<const std::string_view> allowed) {
  const std::string value = text(column);
  const auto found = std::ranges::find(allowed, std::string_view(value));
  if (found != allowed.end()) return static_cast<std::size_t>(found - allowed.begin());
  refuse(fmt::format("{} is '{}', which is none of the {} known", column,
                     engine::shown_text(value, 40), allowed.size()));
  return 0;
}

}  // namespace profiling

// Declared column types are not trusted: a damaged file can hold any type anywhere.
#include "profiling/session/row_reader.h"

#include <fmt/format.h>
#include <zstd.h>
#include <cmath>
#include <utility>

#include "engine/model/path_text.h"
#include "engine/model/text.h"
#include "profiling/session/layout.h"

namespace profiling {

namespace {

engine::Error unreadable(std::string why) { return {engine::ErrorCode::Io, std::move(why)}; }

}  // namespace

std::vector<std::byte> compress_bytes(std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  std::vector<std::byte> blob(ZSTD_compressBound(bytes.size()));
  const std::size_t size =
      ZSTD_compress(blob.data(), blob.size(), bytes.data(), bytes.size(), ZSTD_CLEVEL_DEFAULT);
  // With a buffer of the bound's size only memory exhaustion can fail; a reader refuses the empty
  // blob.
  blob.resize(ZSTD_isError(size) != 0U ? 0 : size);
  return blob;
}

engine::Result<std::size_t> content_bytes(std::span<const std::byte> blob) {
  if (blob.empty()) return std::size_t{0};
  const unsigned long long content = ZSTD_getFrameContentSize(blob.data(), blob.size());
  if (content == ZSTD_CONTENTSIZE_ERROR || content == ZSTD_CONTENTSIZE_UNKNOWN) {
    return unreadable("is not a zstd frame of known size");
  }
  return static_cast<std::size_t>(content);
}

engine::Status decompress_bytes(std::span<const std::byte> blob, std::span<std::byte> target) {
  if (blob.empty() && target.empty()) return {};
  const std::size_t size = ZSTD_decompress(target.data(), target.size(), blob.data(), blob.size());
  if (ZSTD_isError(size) != 0U) {
    return unreadable(fmt::format("does not decompress: {}", ZSTD_getErrorName(size)));
  }
  if (size == target.size()) return {};
  return unreadable(fmt::format("holds {} bytes where {} belong", size, target.size()));
}

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
  if (const int code = sqlite3_step(statement_.get()); code != SQLITE_ROW) {
    if (code == SQLITE_DONE) return false;
    const engine::Error error =
        database_error(sqlite3_db_handle(statement_.get()), path_, "reading");
    status_ = engine::Error{
        error.code, fmt::format("{} (table {}, after {} rows)", error.message, table_, row_)};
    return false;
  }
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
  status_ = engine::Error{
      engine::ErrorCode::InvalidArgument,
      fmt::format("{}: table {}, row {}: {}", engine::shown_path(path_), table_, row_, why)};
}

bool RowReader::has_type(int cell, std::string_view name, int type, const char* wanted) {
  const int found = sqlite3_column_type(statement_.get(), cell);
  if (found == type) return true;
  refuse(fmt::format("{} is {} where {} belongs", name, type_name(found), wanted));
  return false;
}

void RowReader::refuse_integer(int cell, std::string_view name, std::int64_t low,
                               std::int64_t high) {
  if (!has_type(cell, name, SQLITE_INTEGER, "an integer")) return;
  refuse(fmt::format("{} is {}; it must be between {} and {}", name,
                     sqlite3_column_int64(statement_.get(), cell), low, high));
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

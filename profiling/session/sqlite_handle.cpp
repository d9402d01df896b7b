// Every error of SQLite becomes a sentence that names the file and the operation.
#include "profiling/session/sqlite_handle.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "engine/model/path_text.h"
#include "profiling/session/database_vfs.h"
#include "profiling/session/layout.h"
#include "profiling/session/recording_file.h"

namespace profiling {

namespace {

/// The cause of an error, where SQLite's own message would mislead.
std::string cause_text(sqlite3* database, const std::string& path) {
  const int code = sqlite3_extended_errcode(database);
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another program is using the file; try again when it is done";
    case SQLITE_FULL:
      return "the disk is full; " + storage_advice(path, DatabaseVfs::full_folder(database));
    case SQLITE_IOERR:
      if (code == SQLITE_IOERR_READ || code == SQLITE_IOERR_SHORT_READ) break;
      return fmt::format("{}; {}", sqlite3_errmsg(database),
                         storage_advice(path, DatabaseVfs::full_folder(database)));
    default:
      break;
  }
  return sqlite3_errmsg(database);
}

}  // namespace

engine::Result<Database> open_database(const std::string& name, int flags, const std::string& path,
                                       const char* vfs) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &raw, flags, vfs);
  Database database(raw);
  if (code == SQLITE_OK) return database;
  return engine::Error{
      code == SQLITE_NOMEM ? engine::ErrorCode::OutOfMemory : engine::ErrorCode::Io,
      fmt::format("{}: {}", engine::shown_path(path), sqlite3_errstr(code))};
}

engine::Error database_error(sqlite3* database, const std::string& path, const std::string& doing) {
  const int code = sqlite3_errcode(database);
  const auto kind = code == SQLITE_NOMEM ? engine::ErrorCode::OutOfMemory : engine::ErrorCode::Io;
  return {kind,
          fmt::format("{}: {}: {}", engine::shown_path(path), doing, cause_text(database, path))};
}

void set_guards(sqlite3* database) {
  for (const auto& [option, value] :
       {std::pair{SQLITE_DBCONFIG_DEFENSIVE, 1}, std::pair{SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        std::pair{SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, std::pair{SQLITE_DBCONFIG_ENABLE_VIEW, 0},
        std::pair{SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0}, std::pair{SQLITE_DBCONFIG_DQS_DML, 0},
        std::pair{SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0}}) {
    sqlite3_db_config(database, option, value, nullptr);
  }
  for (const auto& [limit, value] :
       {std::pair{SQLITE_LIMIT_LENGTH, kMaxCellBytes}, std::pair{SQLITE_LIMIT_SQL_LENGTH, 16384},
        std::pair{SQLITE_LIMIT_COLUMN, 256}, std::pair{SQLITE_LIMIT_EXPR_DEPTH, 16},
        std::pair{SQLITE_LIMIT_VDBE_OP, 10000}, std::pair{SQLITE_LIMIT_ATTACHED, 0},
        std::pair{SQLITE_LIMIT_TRIGGER_DEPTH, 1}, std::pair{SQLITE_LIMIT_WORKER_THREADS, 0}}) {
    sqlite3_limit(database, limit, value);
  }
}

engine::Status execute_sql(sqlite3* database, const std::string& path, const std::string& sql) {
  if (sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return database_error(database, path, fmt::format("running '{}'", sql.substr(0, 60)));
}

engine::Status in_transaction(sqlite3* database, const std::string& path,
                              const std::function<engine::Status()>& work) {
  ENGINE_TRY(execute_sql(database, path, "BEGIN IMMEDIATE"));
  engine::Status status = work();
  if (status.ok()) status = execute_sql(database, path, "COMMIT");
  // A failed COMMIT may leave the transaction open, which would swallow every later one.
  if (!status.ok()) sqlite3_exec(database, "ROLLBACK", nullptr, nullptr, nullptr);
  return status;
}

engine::Result<Statement> Statement::prepare(sqlite3* database, std::string path,
                                             const std::string& sql) {
  Statement result;
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v3(database, sql.c_str(), static_cast<int>(sql.size()) + 1,
                                      SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  result.statement_.reset(raw);
  result.path_ = std::move(path);
  if (code != SQLITE_OK) {
    return database_error(database, result.path_, fmt::format("preparing '{}'", sql.substr(0, 60)));
  }
  return result;
}

void Statement::remember(int code) {
  if (code != SQLITE_OK && failure_ == SQLITE_OK) failure_ = code;
}

Statement& Statement::integer(std::int64_t value) {
  remember(sqlite3_bind_int64(get(), next_parameter_++, value));
  return *this;
}

Statement& Statement::real(double value) {
  remember(sqlite3_bind_double(get(), next_parameter_++, value));
  return *this;
}

Statement& Statement::text(std::string_view value) {
  // An empty view may hold a null pointer, which SQLite would keep as NULL.
  const char* first = value.empty() ? "" : value.data();
  remember(sqlite3_bind_text64(get(), next_parameter_++, first, value.size(), SQLITE_TRANSIENT,
                               SQLITE_UTF8));
  return *this;
}

Statement& Statement::blob(std::span<const std::byte> value) {
  const void* first = value.empty() ? static_cast<const void*>("") : value.data();
  remember(sqlite3_bind_blob64(get(), next_parameter_++, first, value.size(), SQLITE_TRANSIENT));
  return *this;
}

engine::Status Statement::execute() {
  int code = std::exchange(failure_, SQLITE_OK);
  next_parameter_ = 1;
  if (code == SQLITE_OK) code = sqlite3_step(get());
  if (code == SQLITE_DONE) {
    sqlite3_reset(get());
    return {};
  }
  engine::Error error = database_error(sqlite3_db_handle(get()), path_, "writing");
  sqlite3_reset(get());
  return error;
}

engine::Result<bool> Statement::next() {
  const int code = sqlite3_step(get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return database_error(sqlite3_db_handle(get()), path_, "reading");
}

engine::Status use_log(sqlite3* database, const std::string& path, std::int64_t merge_bytes) {
  const auto number = [&](const char* pragma) -> engine::Result<std::string> {
    ENGINE_ASSIGN(Statement statement, Statement::prepare(database, path, pragma));
    ENGINE_TRY(statement.next());
    return std::string(reinterpret_cast<const char*>(sqlite3_column_text(statement.get(), 0)));
  };
  ENGINE_ASSIGN(const std::string mode, number("PRAGMA journal_mode"));
  if (mode != "wal") {
    // In memory first: a kill then leaves no journal. OFF would do, but a defensive connection
    // silently refuses it.
    ENGINE_TRY(execute_sql(database, path, "PRAGMA journal_mode=MEMORY; PRAGMA journal_mode=WAL"));
  }
  ENGINE_ASSIGN(const std::string page_bytes, number("PRAGMA page_size"));
  sqlite3_wal_autocheckpoint(database, static_cast<int>(merge_bytes / std::stoi(page_bytes)));
  return execute_sql(database, path, "PRAGMA synchronous=FULL");
}

}  // namespace profiling

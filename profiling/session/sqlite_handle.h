// RAII over sqlite3 and sqlite3_stmt. A failed bind is reported by the next step, so that a row is
// bound in one chain and checked once. One thread at a time.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "engine/model/error.h"

namespace profiling {

struct DatabaseClose {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
using Database = std::unique_ptr<sqlite3, DatabaseClose>;

/// `name`: a name that `vfs` knows, or ":memory:"; `flags`: SQLITE_OPEN_*; `vfs`: null = SQLite's
/// own. `path` begins the message.
engine::Result<Database> open_database(const std::string& name, int flags, const std::string& path,
                                       const char* vfs = nullptr);

/// "<path>: <doing>: <SQLite's own sentence>".
engine::Error database_error(sqlite3* database, const std::string& path, const std::string& doing);

/// For an untrusted file, before its first statement: code in the file does not run, and a hostile
/// cell or statement is limited.
void set_guards(sqlite3* database);

/// Runs statements whose rows are not needed.
engine::Status execute_sql(sqlite3* database, const std::string& path, const std::string& sql);

/// Commits what `work` has written, or nothing if it fails.
engine::Status in_transaction(sqlite3* database, const std::string& path,
                              const std::function<engine::Status()>& work);

/// Write-ahead log, flushed with every commit and merged into the file when it has grown to
/// `merge_bytes`. A kill during the switch leaves no rollback journal, which would make the file
/// unreadable without write access.
engine::Status use_log(sqlite3* database, const std::string& path, std::int64_t merge_bytes);

class Statement {
 public:
  static engine::Result<Statement> prepare(sqlite3* database, std::string path,
                                           const std::string& sql);

  // Parameters in order, from the first after every execute().
  Statement& integer(std::int64_t value);
  Statement& real(double value);  // SQLite keeps NaN as NULL
  Statement& text(std::string_view value);
  Statement& blob(std::span<const std::byte> value);

  /// Runs to the end, then is ready for the next row of parameters.
  engine::Status execute();
  /// True while a row is there to be read.
  engine::Result<bool> next();
  sqlite3_stmt* get() const { return statement_.get(); }
  const std::string& path() const { return path_; }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  void remember(int code);

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  std::string path_;
  int next_parameter_ = 1;
  int failure_ = SQLITE_OK;
};

}  // namespace profiling

// File system through which SQLite reaches the two files of a recording (sqlite.org/vfs.html); it
// knows only these two. It opens no name and creates no file, and keeps the index of the log in
// memory: another program that shortens an index file in shared memory would end this one with
// SIGBUS.
#pragma once

#include <sqlite3.h>

#include <functional>
#include <string>

#include "engine/model/error.h"
#include "profiling/session/sqlite_handle.h"
#include "profiling/session/stored_file.h"

namespace profiling {

/// One database connection at a time, which must be closed first. Its address is registered with
/// SQLite, so it cannot move.
class DatabaseVfs {
 public:
  enum class Access { Read, Write };

  /// `main` and `log` outlive it. `remove_log` is called when SQLite deletes the log because
  /// everything in it has been merged into the file.
  DatabaseVfs(StoredFile& main, StoredFile& log, Access access,
              std::function<void()> remove_log = {});
  ~DatabaseVfs();
  DatabaseVfs(const DatabaseVfs&) = delete;
  DatabaseVfs& operator=(const DatabaseVfs&) = delete;

  /// `path` begins the message of an error.
  engine::Result<Database> open(const std::string& path);

  /// StoredFile::full_folder() of a file of this database; empty if it has none, or is no
  /// DatabaseVfs's.
  static std::string full_folder(sqlite3* database);

 private:
  static int open_file(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags,
                       int* out_flags);
  static int delete_file(sqlite3_vfs* vfs, const char* name, int sync_folder);
  static int access(sqlite3_vfs* vfs, const char* name, int flags, int* result);

  StoredFile* main_;
  StoredFile* log_;
  Access access_;
  std::function<void()> remove_log_;
  std::string name_;
  sqlite3_vfs vfs_;
};

}  // namespace profiling

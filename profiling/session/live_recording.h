// A recording that is being written. Its content is in files without names, which no other program
// comes across; the file and the log that people see mirror them. Whatever happens to those is
// noticed, and the content can be copied to another name.
#pragma once

#include <sqlite3.h>

#include <functional>
#include <memory>
#include <string>

#include "engine/model/error.h"
#include "profiling/session/database_vfs.h"
#include "profiling/session/sqlite_handle.h"
#include "profiling/session/stored_file.h"

namespace profiling {

/// One thread at a time.
class LiveRecording {
 public:
  /// Writes the first contents of the file, before it gets its name.
  using Fill = std::function<engine::Status(sqlite3* empty)>;
  /// `path` must be free.
  static engine::Result<std::unique_ptr<LiveRecording>> create(const std::string& path,
                                                               const Fill& fill);
  LiveRecording(const LiveRecording&) = delete;
  LiveRecording& operator=(const LiveRecording&) = delete;

  sqlite3* database() const { return database_.get(); }  // null once closed
  const std::string& path() const { return path_; }

  std::string log_path() const;
  /// The log has its name, and has something in it.
  bool has_log() const;

  /// Commits what `work` has written, or nothing if it fails.
  engine::Status in_transaction(const std::function<engine::Status()>& work);

  /// What another program did to the file or its log: "was deleted or moved away". Empty = nothing,
  /// as far as `check` looks.
  std::string displacement(StoredFile::Check check = StoredFile::Check::IfTouched);

  /// The whole content, for the `fill` of another one.
  engine::Status copy_into(sqlite3* empty) const;

  /// Merges the log and closes it as one file, which is what people copy. If a step fails, the log
  /// stays beside the file, and both together are a complete recording: returns why. Empty = it is
  /// one file.
  std::string close();
  enum class OwnLog { Removed, Kept };
  /// Closes a displaced one: a log that is no longer its own is left alone.
  void abandon(OwnLog log);
  /// Makes the file and the log what they were, if they still have their names: for want of another
  /// place. Overwrites what another program wrote into them.
  bool write_back();
  /// The same bytes under another name, which must be free; after close(). Where that fails,
  /// nothing has changed.
  engine::Status copy_closed_to(const std::string& path);
  /// Releases the file and its lock; changes by other programs are no longer noticed.
  void release();

 private:
  explicit LiveRecording(std::string path) : path_(std::move(path)) {}
  engine::Status open(const Fill& fill);
  engine::Status begin_log();
  engine::Status publish();
  bool owns_names() const;
  void remove_log();

  std::string path_;
  StoredFile main_;
  StoredFile log_;
  std::unique_ptr<DatabaseVfs> vfs_;
  Database database_;
};

}  // namespace profiling

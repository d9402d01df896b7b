// The file of a recording: it gets its name only when complete, is recognised even after another
// file has taken the name, and is locked while it is written.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "engine/model/error.h"
#include "engine/model/unique_fd.h"

namespace profiling {

/// Ends the name of the log (SQLite's write-ahead log), which lies beside the file.
inline constexpr std::string_view kLogSuffix = "-wal";
/// Ends the name of the rollback journal that other programs may have left.
inline constexpr std::string_view kJournalSuffix = "-journal";

/// "<path>: <doing>: <the system's sentence for `error`>", with a remedy for a full disk and for a
/// name that is too long.
engine::Error io_error(const std::string& path, std::string_view doing, int error);

/// Identifies a file independently of its name, which can be removed, moved or reused.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};
/// Empty if there is no such file.
std::optional<FileIdentity> identity_of(const std::string& path);
std::optional<FileIdentity> identity_of(int descriptor);

/// An unfinished file on the disk of its destination. It has no name there if the file system
/// permits that, otherwise a hidden one. A crashed program leaves at most that hidden file, which
/// blocks nothing; create() removes such leftovers.
class UnpublishedFile {
 public:
  enum class Naming { NoneIfPossible, Hidden };
  static engine::Result<UnpublishedFile> create(const std::string& destination,
                                                Naming naming = Naming::NoneIfPossible);
  UnpublishedFile(UnpublishedFile&& other) noexcept;
  UnpublishedFile& operator=(UnpublishedFile&&) = delete;
  ~UnpublishedFile();

  int descriptor() const { return file_.get(); }
  /// Another descriptor of the same opened file; it has the same locks.
  engine::UniqueFd duplicate() const;
  /// Flushes it to disk, then gives it the name of the destination. An existing file is left alone
  /// and is an error.
  engine::Status publish();

 private:
  UnpublishedFile(std::string destination, std::string name, engine::UniqueFd file)
      : destination_(std::move(destination)), name_(std::move(name)), file_(std::move(file)) {}

  std::string destination_;
  std::string name_;  // empty = none
  engine::UniqueFd file_;
};

/// A file without a name, which ends with its last descriptor: in this folder, or among the
/// temporary files where the folder's file system has no such files.
struct UnnamedFile {
  engine::UniqueFd file;
  std::string folder;  // on whose disk it is
};
engine::Result<UnnamedFile> create_unnamed(const std::string& folder);

/// The folder of a file; "." if the path has none.
std::string folder_of(const std::string& path);
/// So that the names in a folder survive a power loss too. Not every file system supports this.
void flush_folder_of(const std::string& path);

/// Locks an open file for writing as SQLite does, so that programs that use SQLite wait or report
/// that it is in use. The lock ends with the last descriptor of this opening. True where the file
/// system has no locks.
bool lock_for_writing(int descriptor);

/// "/a/run.session" gives "/a/run-2.session", or the next free number.
std::string free_name_beside(const std::string& path);
/// The last of the names that free_name_beside() has given to recordings that go on for this one;
/// empty = there is none.
std::string newest_name_beside(const std::string& path);

/// Explains a failed write: the free space on the disk of `path`, the limit on file sizes (ulimit
/// -f) if there is one, and the remedy. `full_folder`: where the content of the recording is kept
/// and had no room, if that is elsewhere.
std::string storage_advice(const std::string& path, const std::string& full_folder = {});

}  // namespace profiling

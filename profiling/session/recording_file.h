// The file of a recording: it gets its name only when complete, and is recognised even after
// another file has taken the name.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "engine/model/error.h"

namespace profiling {

/// Identifies a file independently of its name, which can be removed, moved or reused.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};
/// None if there is no such file.
std::optional<FileIdentity> identity_of(const std::string& path);

/// An unfinished file next to its destination, under a temporary name. A crashed program leaves
/// only that file, which blocks nothing; create() removes such leftovers.
class UnpublishedFile {
 public:
  static engine::Result<UnpublishedFile> create(const std::string& destination);
  UnpublishedFile(UnpublishedFile&& other) noexcept;
  UnpublishedFile& operator=(UnpublishedFile&&) = delete;
  ~UnpublishedFile();

  const std::string& name() const { return name_; }
  engine::Status write(std::span<const std::byte> bytes);
  /// Flushes it to disk, then renames it to the destination. An existing file is left alone and is
  /// an error.
  engine::Status publish();

 private:
  UnpublishedFile(std::string destination, std::string name)
      : destination_(std::move(destination)), name_(std::move(name)) {}

  std::string destination_;
  std::string name_;  // empty once published
};

/// "/a/run.session" gives "/a/run-2.session", or the next free number.
std::string free_name_beside(const std::string& path);

/// Explains a failed write: the free space on the disk of `path`, the limit on file sizes (ulimit
/// -f) if there is one, and the remedy.
std::string storage_advice(const std::string& path);

}  // namespace profiling

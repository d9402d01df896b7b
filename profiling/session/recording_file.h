// The file beneath a recording: it gets its name only when it is whole, and it is told apart from
// whatever may take its name later.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "engine/model/error.h"

namespace profiling {

/// What a file is, whatever its name: names can be removed, moved and given away.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};
/// Nothing when there is no file of this name.
std::optional<FileIdentity> identity_of(const std::string& path);

/// A file in the making, beside its destination under a name of its own. A program that dies
/// leaves only that name, which blocks nobody; create() removes what dead programs left.
class UnpublishedFile {
 public:
  static engine::Result<UnpublishedFile> create(const std::string& destination);
  UnpublishedFile(UnpublishedFile&& other) noexcept;
  UnpublishedFile& operator=(UnpublishedFile&&) = delete;
  ~UnpublishedFile();

  const std::string& name() const { return name_; }
  engine::Status write(std::span<const std::byte> bytes);
  /// On the disk, then under the name of its destination. A file that has that name already is
  /// left alone, and the error says so.
  engine::Status publish();

 private:
  UnpublishedFile(std::string destination, std::string name)
      : destination_(std::move(destination)), name_(std::move(name)) {}

  std::string destination_;
  std::string name_;  // empty once published
};

/// "/a/run.session" gives "/a/run-2.session", or the next number that nobody has.
std::string free_name_beside(const std::string& path);

/// What a failed write needs said: the room left on the disk of `path`, the limit on file sizes
/// (ulimit -f) if there is one, and the remedy.
std::string storage_words(const std::string& path);

}  // namespace profiling

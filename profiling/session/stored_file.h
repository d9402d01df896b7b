// One file of a recording's database, reached through descriptors only: no name can be swapped
// under it, and nothing is created beside it. A file that is being recorded has two copies. The
// content has no name, so no other program can reach it, and everything is read from it. The mirror
// is the file that people see. Whatever happens to the mirror can be noticed and undone.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/model/unique_fd.h"

namespace profiling {

/// A file at one moment; different values mean that it was replaced, or written in between.
struct FileState {
  dev_t device = 0;
  ino_t inode = 0;
  std::int64_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;  // cannot be set by a program, unlike the time of modification
  nlink_t links = 0;
  bool operator==(const FileState&) const = default;
};
std::optional<FileState> state_of(int descriptor);

/// Reads or writes all of the bytes at `offset`. read_at() returns how many there were, fewer only
/// at the end of the file, or -1; write_at() returns false if anything was not written. errno says
/// why.
ssize_t read_at(int descriptor, std::span<std::byte> bytes, std::int64_t offset);
bool write_at(int descriptor, std::span<const std::byte> bytes, std::int64_t offset);

/// One thread at a time. Results are SQLite's codes.
class StoredFile {
 public:
  StoredFile() = default;  // an empty file that cannot be written
  explicit StoredFile(engine::UniqueFd content) : content_(std::move(content)) {}

  int read(std::span<std::byte> bytes, std::int64_t offset) const;
  int write(std::span<const std::byte> bytes, std::int64_t offset);
  int truncate(std::int64_t bytes);
  /// Flushes what must survive a power loss: the mirror, if there is one.
  int sync() const;
  std::int64_t size() const;

  /// From now on `mirror` has the content too; false if it could not be written.
  bool mirror_to(engine::UniqueFd mirror);
  /// The mirror is no longer written.
  void release_mirror() { mirror_.reset(); }
  int mirror() const { return mirror_.get(); }  // -1 = none

  /// To be called when this program has finished writing: a later change is another program's.
  void remember_mirror() { remembered_ = state_of(mirror_.get()); }
  enum class Check {
    IfTouched,  // compares bytes only if the mirror was touched since remember_mirror()
    EveryByte,
  };
  /// Whether the mirror has exactly the content.
  bool mirror_matches(Check check);

 private:
  void undo_in_mirror(std::int64_t offset, std::int64_t bytes);
  bool same_bytes() const;

  engine::UniqueFd content_;
  engine::UniqueFd mirror_;
  std::optional<FileState> remembered_;
};

}  // namespace profiling

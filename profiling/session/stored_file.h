// One file of a recording's database, reached through descriptors only: no name can be swapped
// under it, and nothing is created beside it. A file that is being recorded has two copies. The
// content has no name, so no other program comes across it, and everything is read from it. The
// mirror is the file that people see. What happens to the mirror can be noticed and undone.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

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
  /// `folder`: where a content without a name is.
  explicit StoredFile(engine::UniqueFd content, std::string folder = {})
      : content_(std::move(content)), folder_(std::move(folder)) {}

  int read(std::span<std::byte> bytes, std::int64_t offset) const;
  int write(std::span<const std::byte> bytes, std::int64_t offset);
  int truncate(std::int64_t bytes);
  /// Flushes what must survive a power loss: the mirror, if there is one.
  int sync() const;
  std::int64_t size() const;

  /// From now on `mirror` has the content too; false if it could not be written.
  bool mirror_to(engine::UniqueFd mirror);
  /// The mirror is no longer written.
  void release_mirror() { mirror_ = {}; }
  int mirror() const { return mirror_.file.get(); }  // -1 = none
  /// Writes the content into the mirror again; false if that failed.
  bool rewrite_mirror();

  /// Call it after this program has changed the mirror's names, because only changes by other
  /// programs should be noticed. write() and truncate() call it themselves.
  void remember_mirror();
  enum class Check {
    IfTouched,  // compares bytes only if another program may have touched the mirror
    EveryByte,
  };
  /// Whether the mirror has exactly the content.
  bool mirror_matches(Check check);

  /// The content's folder if the last write of it found no room there; otherwise empty.
  const std::string& full_folder() const { return full_folder_; }
  /// The mirror has part of a failed write of this program, and not of another's.
  bool undo_failed() const { return mirror_.undo_failed; }

  /// The other copy, and what is known about it.
  struct Mirror {
    engine::UniqueFd file;
    std::optional<FileState> remembered = {};  // as this program left it
    bool touched = false;  // another program has changed it since its bytes were compared
    bool stable = false;   // compared when its time of change was old enough to tell changes apart
    bool undo_failed = false;
  };
  /// Another mirror, or none, in place of this one, which is returned.
  Mirror exchange_mirror(Mirror other) { return std::exchange(mirror_, std::move(other)); }

 private:
  int write_both(std::span<const std::byte> bytes, std::int64_t offset);
  int truncate_both(std::int64_t bytes);
  void notice_change();
  bool due_for_comparison(const FileState& now) const;
  bool undo_in_mirror(std::int64_t offset, std::int64_t bytes);
  bool same_bytes() const;

  engine::UniqueFd content_;
  std::string folder_;
  std::string full_folder_;
  Mirror mirror_;
  std::chrono::steady_clock::time_point next_comparison_{};
};

}  // namespace profiling

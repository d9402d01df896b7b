#include "profiling/session/stored_file.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace profiling {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

std::int64_t nanoseconds(const timespec& time) {
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

int write_failure() {
  return errno == ENOSPC || errno == EDQUOT ? SQLITE_FULL : SQLITE_IOERR_WRITE;
}

/// Copies this part of one file into the other; false at the first error or early end.
bool copy_part(int from, int to, std::int64_t offset, std::int64_t end) {
  std::vector<std::byte> chunk(kChunkBytes);
  while (offset < end) {
    const auto wanted = static_cast<std::size_t>(
        std::min<std::int64_t>(end - offset, static_cast<std::int64_t>(chunk.size())));
    const ssize_t count = read_at(from, std::span(chunk).first(wanted), offset);
    if (count != static_cast<ssize_t>(wanted)) return false;
    if (!write_at(to, std::span(chunk).first(wanted), offset)) return false;
    offset += count;
  }
  return true;
}

}  // namespace

std::optional<FileState> state_of(int descriptor) {
  struct stat found{};
  if (descriptor < 0 || ::fstat(descriptor, &found) != 0) return std::nullopt;
  return FileState{.device = found.st_dev,
                   .inode = found.st_ino,
                   .bytes = found.st_size,
                   .modified_ns = nanoseconds(found.st_mtim),
                   .changed_ns = nanoseconds(found.st_ctim),
                   .links = found.st_nlink};
}

ssize_t read_at(int descriptor, std::span<std::byte> bytes, std::int64_t offset) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::pread(descriptor, bytes.data() + done, bytes.size() - done,
                                  offset + static_cast<std::int64_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -1;
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return static_cast<ssize_t>(done);
}

bool write_at(int descriptor, std::span<const std::byte> bytes, std::int64_t offset) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(descriptor, bytes.data(), bytes.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += count;
  }
  return true;
}

int StoredFile::read(std::span<std::byte> bytes, std::int64_t offset) const {
  const ssize_t count = content_.valid() ? read_at(content_.get(), bytes, offset) : 0;
  if (count < 0) return SQLITE_IOERR_READ;
  if (static_cast<std::size_t>(count) == bytes.size()) return SQLITE_OK;
  // SQLite's rule for a short read: the rest is zero.
  std::ranges::fill(bytes.subspan(static_cast<std::size_t>(count)), std::byte{0});
  return SQLITE_IOERR_SHORT_READ;
}

/// The mirror first: it is the one that fails on a full disk. Both have the bytes, or neither.
int StoredFile::write(std::span<const std::byte> bytes, std::int64_t offset) {
  const bool mirrored = !mirror_.valid() || write_at(mirror_.get(), bytes, offset);
  if (mirrored && write_at(content_.get(), bytes, offset)) return SQLITE_OK;
  const int failure = write_failure();
  undo_in_mirror(offset, static_cast<std::int64_t>(bytes.size()));
  return failure;
}

/// If this fails too, mirror_matches() will say so.
void StoredFile::undo_in_mirror(std::int64_t offset, std::int64_t bytes) {
  if (!mirror_.valid()) return;
  const std::int64_t end = size();
  if (offset + bytes > end && ::ftruncate(mirror_.get(), end) != 0) return;
  static_cast<void>(
      copy_part(content_.get(), mirror_.get(), offset, std::min(end, offset + bytes)));
}

int StoredFile::truncate(std::int64_t bytes) {
  if (mirror_.valid() && ::ftruncate(mirror_.get(), bytes) != 0) return SQLITE_IOERR_TRUNCATE;
  return ::ftruncate(content_.get(), bytes) == 0 ? SQLITE_OK : SQLITE_IOERR_TRUNCATE;
}

int StoredFile::sync() const {
  // Content without a mirror has no name either, or is the file itself.
  const int file = mirror_.valid() ? mirror_.get() : content_.get();
  return ::fdatasync(file) == 0 ? SQLITE_OK : SQLITE_IOERR_FSYNC;
}

std::int64_t StoredFile::size() const {
  const std::optional<FileState> state = state_of(content_.get());
  return state ? state->bytes : 0;
}

bool StoredFile::mirror_to(engine::UniqueFd mirror) {
  if (!copy_part(content_.get(), mirror.get(), 0, size())) return false;
  mirror_ = std::move(mirror);
  remember_mirror();
  return true;
}

bool StoredFile::mirror_matches(Check check) {
  const std::optional<FileState> now = state_of(mirror_.get());
  if (!now || now->bytes != size()) return false;
  if (check == Check::IfTouched && now == remembered_) return true;
  if (!same_bytes()) return false;
  remembered_ = now;
  return true;
}

bool StoredFile::same_bytes() const {
  std::vector<std::byte> expected(kChunkBytes);
  std::vector<std::byte> found(kChunkBytes);
  for (std::int64_t offset = 0;;) {
    const ssize_t count = read_at(content_.get(), expected, offset);
    if (count != read_at(mirror_.get(), found, offset) || count < 0) return false;
    if (count == 0) return true;
    if (std::memcmp(expected.data(), found.data(), static_cast<std::size_t>(count)) != 0) {
      return false;
    }
    offset += count;
  }
}

}  // namespace profiling

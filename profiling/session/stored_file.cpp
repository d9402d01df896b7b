#include "profiling/session/stored_file.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>
#include <vector>

namespace profiling {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

std::int64_t nanoseconds(const timespec& time) {
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

/// Between comparisons that no visible change asks for, as a multiple of what one takes.
constexpr int kRestPerComparison = 20;

/// Whether a later change of the file has a later time.
bool is_stable(const FileState& state) {
  constexpr std::int64_t kClockStep_ns = 20'000'000;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::abs(nanoseconds(now) - state.changed_ns) >= kClockStep_ns;
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

int StoredFile::write(std::span<const std::byte> bytes, std::int64_t offset) {
  notice_change();
  const int code = write_both(bytes, offset);
  remember_mirror();
  return code;
}

/// The mirror first: it is the one that fails on a full disk. What it then has of the bytes is
/// undone.
int StoredFile::write_both(std::span<const std::byte> bytes, std::int64_t offset) {
  const bool mirrored = mirror() < 0 || write_at(mirror(), bytes, offset);
  full_folder_.clear();
  if (mirrored && write_at(content_.get(), bytes, offset)) return SQLITE_OK;
  const int failure = write_failure();
  if (mirrored) full_folder_ = folder_;
  if (!undo_in_mirror(offset, static_cast<std::int64_t>(bytes.size()))) mirror_.undo_failed = true;
  return failure;
}

/// If this fails too, mirror_matches() says so, and undo_failed() whose doing it is.
bool StoredFile::undo_in_mirror(std::int64_t offset, std::int64_t bytes) {
  if (mirror() < 0) return true;
  const std::int64_t end = size();
  if (offset + bytes > end && ::ftruncate(mirror(), end) != 0) return false;
  return copy_part(content_.get(), mirror(), offset, std::min(end, offset + bytes));
}

int StoredFile::truncate(std::int64_t bytes) {
  notice_change();
  const int code = truncate_both(bytes);
  remember_mirror();
  return code;
}

int StoredFile::truncate_both(std::int64_t bytes) {
  if (mirror() >= 0 && ::ftruncate(mirror(), bytes) != 0) return SQLITE_IOERR_TRUNCATE;
  return ::ftruncate(content_.get(), bytes) == 0 ? SQLITE_OK : SQLITE_IOERR_TRUNCATE;
}

int StoredFile::sync() const {
  // Content without a mirror has no name either, or is the file itself.
  const int file = mirror() >= 0 ? mirror() : content_.get();
  return ::fdatasync(file) == 0 ? SQLITE_OK : SQLITE_IOERR_FSYNC;
}

std::int64_t StoredFile::size() const {
  const std::optional<FileState> state = state_of(content_.get());
  return state ? state->bytes : 0;
}

bool StoredFile::mirror_to(engine::UniqueFd mirror) {
  if (!copy_part(content_.get(), mirror.get(), 0, size())) return false;
  mirror_ = {.file = std::move(mirror)};
  remember_mirror();
  return true;
}

bool StoredFile::rewrite_mirror() {
  if (mirror() < 0 || !copy_part(content_.get(), mirror(), 0, size()) ||
      ::ftruncate(mirror(), size()) != 0 || ::fdatasync(mirror()) != 0) {
    return false;
  }
  remember_mirror();
  mirror_.touched = false;
  mirror_.undo_failed = false;
  return true;
}

void StoredFile::remember_mirror() {
  mirror_.remembered = state_of(mirror());
  mirror_.stable = false;
}

/// Before this program writes: its own change would hide the other one's.
void StoredFile::notice_change() {
  if (mirror() >= 0 && state_of(mirror()) != mirror_.remembered) mirror_.touched = true;
}

/// Times of files advance in steps of some milliseconds, so a change right after this program's own
/// may have the same time. Once the time is old enough, one comparison tells. A large file is
/// compared seldom, so that this costs little of the time.
bool StoredFile::due_for_comparison(const FileState& now) const {
  return !mirror_.stable && is_stable(now) && std::chrono::steady_clock::now() >= next_comparison_;
}

bool StoredFile::mirror_matches(Check check) {
  const std::optional<FileState> now = state_of(mirror());
  if (!now || now->bytes != size()) return false;
  const bool as_left = !mirror_.touched && now == mirror_.remembered;
  if (check == Check::IfTouched && as_left && !due_for_comparison(*now)) return true;
  const auto begun = std::chrono::steady_clock::now();
  const bool stable = is_stable(*now);
  if (!same_bytes()) return false;
  const auto ended = std::chrono::steady_clock::now();
  next_comparison_ = ended + kRestPerComparison * (ended - begun);
  mirror_.remembered = now;
  mirror_.touched = false;
  mirror_.stable = stable;
  mirror_.undo_failed = false;
  return true;
}

bool StoredFile::same_bytes() const {
  std::vector<std::byte> expected(kChunkBytes);
  std::vector<std::byte> found(kChunkBytes);
  for (std::int64_t offset = 0;;) {
    const ssize_t count = read_at(content_.get(), expected, offset);
    if (count != read_at(mirror(), found, offset) || count < 0) return false;
    if (count == 0) return true;
    if (std::memcmp(expected.data(), found.data(), static_cast<std::size_t>(count)) != 0) {
      return false;
    }
    offset += count;
  }
}

}  // namespace profiling

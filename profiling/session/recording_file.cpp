#include "profiling/session/recording_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <utility>

#include "engine/model/path_text.h"

namespace profiling {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUnpublished = ".unpublished";

/// ".run.session.<process>-<number>.unpublished": hidden, and names the process that writes it.
std::string unpublished_prefix(const std::string& destination) {
  return fmt::format(".{}.", fs::path(destination).filename().string());
}

/// Removes unfinished files of processes that no longer run. Process ids of another machine that
/// shares the folder mean nothing here, so only files older than ten minutes go: writing one takes
/// seconds.
void remove_leftovers(const std::string& destination) {
  constexpr auto kAbandonedAfter = std::chrono::minutes(10);
  const std::string prefix = unpublished_prefix(destination);
  std::error_code error;
  for (fs::directory_iterator at(folder_of(destination), error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(prefix) || !name.ends_with(kUnpublished)) continue;
    pid_t process = 0;
    const std::from_chars_result number =
        std::from_chars(name.data() + prefix.size(), name.data() + name.size(), process);
    if (number.ec != std::errc() || *number.ptr != '-' || process <= 0) continue;
    if (::kill(process, 0) == 0 || errno != ESRCH) continue;
    std::error_code ignored;
    const fs::file_time_type written = fs::last_write_time(at->path(), ignored);
    if (!ignored && fs::file_time_type::clock::now() - written > kAbandonedAfter) {
      fs::remove(at->path(), ignored);
    }
  }
}

/// Renames `from` to `to` unless `to` exists; 0 or errno.
int rename_without_replacing(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  // A file system without that flag (NFS) has hard links.
  if (::link(from.c_str(), to.c_str()) != 0) return errno;
  ::unlink(from.c_str());
  return 0;
}

/// A file without a name in this folder; invalid, with errno, where there can be none.
engine::UniqueFd open_unnamed(const std::string& folder) {
  return engine::UniqueFd(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0644));
}

/// Gives a file without a name this one unless it is taken; 0 or errno.
int name_without_replacing(int descriptor, const std::string& to) {
  // The other way, AT_EMPTY_PATH, needs a capability.
  const std::string from = fmt::format("/proc/self/fd/{}", descriptor);
  return ::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

std::optional<FileIdentity> identity_in(const struct stat& found, int failed) {
  if (failed != 0) return std::nullopt;
  return FileIdentity{.device = found.st_dev, .inode = found.st_ino};
}

}  // namespace

engine::Error io_error(const std::string& path, std::string_view doing, int error) {
  std::string words = fmt::format("{}: {}: {}", engine::shown_path(path), doing,
                                  engine::path_error_text(path, error));
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) words += "; " + storage_advice(path);
  return {engine::ErrorCode::Io, std::move(words)};
}

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

std::optional<FileIdentity> identity_of(const std::string& path) {
  struct stat found{};
  const int failed = ::stat(path.c_str(), &found);
  return identity_in(found, failed);
}

std::optional<FileIdentity> identity_of(int descriptor) {
  struct stat found{};
  const int failed = ::fstat(descriptor, &found);
  return identity_in(found, failed);
}

engine::Result<UnpublishedFile> UnpublishedFile::create(const std::string& destination,
                                                        Naming naming) {
  static std::atomic<unsigned> serial{0};
  remove_leftovers(destination);
  if (naming == Naming::NoneIfPossible) {
    engine::UniqueFd unnamed = open_unnamed(folder_of(destination));
    if (unnamed.valid()) return UnpublishedFile(destination, "", std::move(unnamed));
  }
  const std::string name =
      fmt::format("{}/{}{}-{}{}", folder_of(destination), unpublished_prefix(destination),
                  ::getpid(), serial++, kUnpublished);
  // Left by an earlier process with the same id.
  ::unlink(name.c_str());
  engine::UniqueFd file(::open(name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0644));
  if (!file.valid()) return io_error(destination, "cannot be created", errno);
  return UnpublishedFile(destination, name, std::move(file));
}

UnpublishedFile::UnpublishedFile(UnpublishedFile&& other) noexcept
    : destination_(std::move(other.destination_)),
      name_(std::exchange(other.name_, {})),
      file_(std::move(other.file_)) {}

UnpublishedFile::~UnpublishedFile() {
  if (!name_.empty()) ::unlink(name_.c_str());
}

engine::UniqueFd UnpublishedFile::duplicate() const {
  return engine::UniqueFd(::fcntl(file_.get(), F_DUPFD_CLOEXEC, 0));
}

engine::Status UnpublishedFile::publish() {
  if (::fsync(file_.get()) != 0) return io_error(destination_, "cannot be written", errno);
  const int error = name_.empty() ? name_without_replacing(file_.get(), destination_)
                                  : rename_without_replacing(name_, destination_);
  if (error == EEXIST) {
    return engine::Error{engine::ErrorCode::Io,
                         fmt::format("{}: exists already and is not overwritten; choose another "
                                     "name",
                                     destination_)};
  }
  if (error != 0) return io_error(destination_, "cannot be created", error);
  name_.clear();
  flush_folder_of(destination_);
  return {};
}

engine::Result<UnnamedFile> create_unnamed(const std::string& folder) {
  std::error_code ignored;
  const fs::path temporary = fs::temp_directory_path(ignored);
  for (const std::string& place : {folder, temporary.string()}) {
    engine::UniqueFd file = open_unnamed(place);
    if (file.valid()) return UnnamedFile{std::move(file), place};
  }
  std::string name = (temporary / "expertscope-XXXXXX").string();
  engine::UniqueFd file(::mkostemp(name.data(), O_CLOEXEC));
  if (!file.valid()) return io_error(name, "cannot be created", errno);
  ::unlink(name.c_str());
  return UnnamedFile{std::move(file), temporary.string()};
}

void flush_folder_of(const std::string& path) {
  const engine::UniqueFd folder(
      ::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.valid()) ::fsync(folder.get());
}

bool lock_for_writing(int descriptor) {
  // The bytes that SQLite locks (sqlite.org/fileformat.html, section 1.3.1: the lock-byte page).
  // Locks of the opened file, not of the process: any other descriptor of the same file that this
  // process closes would release those.
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = 0x40000000;
  lock.l_len = 512;
  return ::fcntl(descriptor, F_OFD_SETLK, &lock) == 0 || (errno != EAGAIN && errno != EACCES);
}

namespace {

/// The names "x-2", "x-3" .. beside "x", from the one after `path` on.
class CountedNames {
 public:
  explicit CountedNames(const std::string& path) : original_(path) {
    stem_ = original_.stem().string();
    // "x-2" beside "x" was named here, and goes on with "x-3".
    constexpr std::size_t kMostDigits = 4;
    const std::size_t dash = stem_.rfind('-');
    const std::string digits = dash == std::string::npos ? "" : stem_.substr(dash + 1);
    if (digits.empty() || digits.size() > kMostDigits ||
        digits.find_first_not_of("0123456789") != std::string::npos ||
        !identity_of(named(stem_.substr(0, dash)))) {
      return;
    }
    number_ = std::max(number_, std::stoi(digits) + 1);
    stem_.resize(dash);
  }
  std::string next() { return named(fmt::format("{}-{}", stem_, number_++)); }

 private:
  std::string named(const std::string& stem) const {
    fs::path file = original_;
    return file.replace_filename(stem + original_.extension().string()).string();
  }

  fs::path original_;
  std::string stem_;
  int number_ = 2;
};

}  // namespace

std::string free_name_beside(const std::string& path) {
  for (CountedNames names(path);;) {
    std::string name = names.next();
    // A stale log next to a new file would be taken for its own.
    if (!identity_of(name) && !identity_of(name + std::string(kLogSuffix))) return name;
  }
}

std::string newest_name_beside(const std::string& path) {
  std::string newest;
  for (CountedNames names(path);;) {
    std::string name = names.next();
    if (!identity_of(name)) return newest;
    newest = std::move(name);
  }
}

std::string storage_advice(const std::string& path, const std::string& full_folder) {
  std::string words;
  std::error_code error;
  const bool elsewhere = !full_folder.empty() && full_folder != folder_of(path);
  const fs::space_info space = fs::space(elsewhere ? full_folder : folder_of(path), error);
  if (!error) {
    words = fmt::format("{:.1f} MB are free {}", static_cast<double>(space.available) / 1e6,
                        elsewhere ? fmt::format("in {}, where a recording is kept until it is "
                                                "closed",
                                                full_folder)
                                  : "on that disk");
  }
  struct rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    words += fmt::format("{}files of this program may have {:.1f} MB at most (ulimit -f)",
                         words.empty() ? "" : " and ", static_cast<double>(limit.rlim_cur) / 1e6);
  }
  return words + (words.empty() ? "" : ": ") +
         (elsewhere ? "free some space there, or set TMPDIR to another folder"
                    : "free some space or choose another folder");
}

}  // namespace profiling

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
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

namespace profiling {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUnpublished = ".unpublished";

engine::Error io_error(const std::string& path, std::string_view doing, int error) {
  std::string words = fmt::format("{}: {}: {}", path, doing, std::strerror(error));
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) words += "; " + storage_advice(path);
  return {engine::ErrorCode::Io, std::move(words)};
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }
  bool valid() const { return number_ >= 0; }

 private:
  int number_;
};

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

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

}  // namespace

std::optional<FileIdentity> identity_of(const std::string& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) return std::nullopt;
  return FileIdentity{.device = found.st_dev, .inode = found.st_ino};
}

engine::Result<UnpublishedFile> UnpublishedFile::create(const std::string& destination) {
  static std::atomic<unsigned> serial{0};
  remove_leftovers(destination);
  const std::string name =
      fmt::format("{}/{}{}-{}{}", folder_of(destination), unpublished_prefix(destination),
                  ::getpid(), serial++, kUnpublished);
  // Left by an earlier process with the same id.
  ::unlink(name.c_str());
  const Descriptor file(::open(name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0644));
  if (!file.valid()) return io_error(destination, "cannot be created", errno);
  return UnpublishedFile(destination, name);
}

UnpublishedFile::UnpublishedFile(UnpublishedFile&& other) noexcept
    : destination_(std::move(other.destination_)), name_(std::exchange(other.name_, {})) {}

UnpublishedFile::~UnpublishedFile() {
  if (!name_.empty()) ::unlink(name_.c_str());
}

engine::Status UnpublishedFile::write(std::span<const std::byte> bytes) {
  const Descriptor file(::open(name_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  while (file.valid() && !bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return io_error(destination_, "cannot be written", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  if (!file.valid()) return io_error(destination_, "cannot be written", errno);
  return {};
}

engine::Status UnpublishedFile::publish() {
  {
    const Descriptor file(::open(name_.c_str(), O_RDWR | O_CLOEXEC));
    if (!file.valid() || ::fsync(file.get()) != 0) {
      return io_error(destination_, "cannot be written", errno);
    }
  }
  if (const int error = rename_without_replacing(name_, destination_); error == EEXIST) {
    return engine::Error{engine::ErrorCode::Io,
                         fmt::format("{}: exists already and is not overwritten; choose another "
                                     "name",
                                     destination_)};
  } else if (error != 0) {
    return io_error(destination_, "cannot be created", error);
  }
  name_.clear();
  // So that the name survives a power loss too. Not every file system supports this.
  const Descriptor folder(
      ::open(folder_of(destination_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.valid()) ::fsync(folder.get());
  return {};
}

std::string free_name_beside(const std::string& path) {
  const fs::path original(path);
  for (int i = 2;; ++i) {
    fs::path name = original;
    name.replace_filename(
        fmt::format("{}-{}{}", original.stem().string(), i, original.extension().string()));
    // A stale log next to a new file would be taken for its own.
    const std::string log = name.string() + "-wal";
    if (!identity_of(name.string()) && !identity_of(log)) return name.string();
  }
}

std::string storage_advice(const std::string& path) {
  std::string words;
  std::error_code error;
  const fs::space_info space = fs::space(folder_of(path), error);
  if (!error) {
    words =
        fmt::format("{:.1f} MB are free on that disk", static_cast<double>(space.available) / 1e6);
  }
  struct rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    words += fmt::format("{}files of this program may have {:.1f} MB at most (ulimit -f)",
                         words.empty() ? "" : " and ", static_cast<double>(limit.rlim_cur) / 1e6);
  }
  return words + (words.empty() ? "" : ": ") + "free some space or choose another folder";
}

}  // namespace profiling

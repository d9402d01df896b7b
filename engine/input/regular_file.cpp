#include "engine/input/regular_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

namespace engine {

namespace {

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "a socket";
}

Error cannot_open(const std::string& path, int reason) {
  return {reason == ENOENT ? ErrorCode::NotFound : ErrorCode::Io,
          fmt::format("{} cannot be opened: {}", path, std::strerror(reason))};
}

Error not_regular(const std::string& path, mode_t mode) {
  return {ErrorCode::Io, fmt::format("{} is not a regular file but {}", path, kind_of(mode))};
}

}  // namespace

Status check_regular_file(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return cannot_open(path, errno);
  if (!S_ISREG(status.st_mode)) return not_regular(path, status.st_mode);
  return {};
}

Result<RegularFile> RegularFile::open(const std::string& path) {
  // A name with a NUL in it would open the file that its first part names.
  if (path.find('\0') != std::string::npos) {
    return Error{ErrorCode::InvalidArgument,
                 "a path contains a NUL character, so no such file exists"};
  }
  // O_NONBLOCK: opening a FIFO must not wait for a writer, a device must not be waited for.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return cannot_open(path, errno);
  RegularFile file(path, descriptor, 0);
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0) return cannot_open(path, errno);
  if (!S_ISREG(status.st_mode)) {
    Error error = not_regular(path, status.st_mode);
    error.message += "; copy its contents to a file and use that";
    return error;
  }
  file.size_ = static_cast<std::size_t>(status.st_size);
  return file;
}

RegularFile::~RegularFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<std::string> RegularFile::read(std::size_t at_most) {
  std::string bytes;
  // Grows with the data: the size reported by the folder may be outdated or huge.
  constexpr std::size_t kChunk = 256 * 1024;
  while (bytes.size() < at_most) {
    const std::size_t have = bytes.size();
    bytes.resize(std::min(at_most, have + kChunk));
    const ssize_t count = ::read(descriptor_, bytes.data() + have, bytes.size() - have);
    bytes.resize(have + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count == 0) break;
    if (count < 0 && errno != EINTR) {
      return Error{ErrorCode::Io,
                   fmt::format("{} cannot be read: {}", path_, std::strerror(errno))};
    }
  }
  return bytes;
}

Result<std::string> RegularFile::read_all(std::size_t max_bytes) {
  const auto refuse = [&](std::size_t bytes) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{} has {} bytes; at most {} are read. Is it the right file?", path_,
                             bytes, max_bytes)};
  };
  if (size_ > max_bytes) return refuse(size_);
  Result<std::string> bytes = read(max_bytes + 1);
  if (bytes.ok() && bytes.value().size() > max_bytes) return refuse(bytes.value().size());
  return bytes;
}

Result<std::string> read_file(const std::string& path, std::size_t max_bytes) {
  Result<RegularFile> file = RegularFile::open(path);
  if (!file.ok()) return file.error();
  return file.value().read_all(max_bytes);
}

namespace {

/// Calls only what a signal handler may. The level in front is how a worker's log lines begin.
void on_missing_page(int number) {
  constexpr std::string_view kWords =
      "error: a file became shorter while it was read, or its disk failed; run again once nobody "
      "writes to it\n";
  static_cast<void>(::write(STDERR_FILENO, kWords.data(), kWords.size()) < 0);
  std::signal(number, SIG_DFL);
  std::raise(number);  // with this handler's end
}

}  // namespace

void explain_missing_pages() { std::signal(SIGBUS, on_missing_page); }

Result<MappedFile> MappedFile::open(const std::string& path) {
  const Result<RegularFile> file = RegularFile::open(path);
  if (!file.ok()) return file.error();
  const std::size_t size = file.value().size();
  if (size == 0) return Error{ErrorCode::InvalidArgument, fmt::format("{} is empty", path)};
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.value().descriptor(), 0);
  if (address == MAP_FAILED) {
    return Error{ErrorCode::Io, fmt::format("cannot map the {} bytes of {}: {}", size, path,
                                            std::strerror(errno))};
  }
  return MappedFile({static_cast<const std::byte*>(address), size});
}

MappedFile::~MappedFile() {
  if (bytes_.empty()) return;
  // munmap takes a mutable pointer; nothing is written.
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace engine

#include "engine/input/regular_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

#include "engine/model/path_text.h"

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
          fmt::format("{} cannot be opened: {}", shown_path(path), path_error_text(path, reason))};
}

Error not_regular(const std::string& path, mode_t mode) {
  return {ErrorCode::Io,
          fmt::format("{} is not a regular file but {}", shown_path(path), kind_of(mode))};
}

}  // namespace

Status check_regular_file(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return cannot_open(path, errno);
  if (!S_ISREG(status.st_mode)) return not_regular(path, status.st_mode);
  return {};
}

Result<RegularFile> RegularFile::open(const std::string& path) {
  // A name that contains a NUL would open the file named by its first part.
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
                   fmt::format("{} cannot be read: {}", shown_path(path_), std::strerror(errno))};
    }
  }
  return bytes;
}

Result<std::string> RegularFile::read_all(std::size_t max_bytes) {
  const auto refuse = [&](std::size_t bytes) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{} has {} bytes; at most {} are read. Is it the right file?",
                             shown_path(path_), bytes, max_bytes)};
  };
  if (size_ > max_bytes) return refuse(size_);
  Result<std::string> bytes = read(max_bytes + 1);
  if (bytes.ok() && bytes.value().size() > max_bytes) return refuse(bytes.value().size());
  return bytes;
}

Result<std::string> read_file(const std::string& path, std::size_t max_bytes) {
  ENGINE_ASSIGN(RegularFile file, RegularFile::open(path));
  return file.read_all(max_bytes);
}

namespace {

/// State of the signal handler, without locks or allocation. A mapping without a slot is not
/// repaired.
struct Slot {
  std::atomic<std::uintptr_t> begin{0};  // 0 = free
  std::atomic<std::size_t> size{0};
  std::atomic<bool> shrunk{false};
};
std::array<Slot, 256> slots;
static_assert(std::atomic<std::uintptr_t>::is_always_lock_free);

std::mutex mutex;                             // guards the two below
std::array<std::string, slots.size()> paths;  // of the slots
std::string closed_path;                      // of a file that shrank and is no longer mapped

void add_slot(const void* address, std::size_t size, const std::string& path) {
  const std::lock_guard lock(mutex);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].begin != 0) continue;
    paths[i] = path;
    slots[i].size = size;
    slots[i].shrunk = false;
    slots[i].begin = reinterpret_cast<std::uintptr_t>(address);  // last: from here it is seen
    return;
  }
}

void free_slot(const void* address) {
  const std::lock_guard lock(mutex);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].begin != reinterpret_cast<std::uintptr_t>(address)) continue;
    if (slots[i].shrunk) closed_path = paths[i];
    slots[i].begin = 0;
    return;
  }
}

/// Calls only what a signal handler may, and mmap, which is a bare system call here. The faulting
/// instruction is repeated afterwards and reads zeros.
void on_missing_page(int number, siginfo_t* fault, void* /*context*/) {
  const int saved = errno;
  const auto address = reinterpret_cast<std::uintptr_t>(fault->si_addr);
  for (Slot& slot : slots) {
    const std::uintptr_t begin = slot.begin;
    if (begin == 0 || address < begin || address - begin >= slot.size) continue;
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const std::uintptr_t from = address / page * page;
    const std::size_t length = begin + slot.size - from;
    // Up to the end: a truncated file has lost everything after it too.
    void* zeros = ::mmap(reinterpret_cast<void*>(from), length, PROT_READ,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (zeros == MAP_FAILED) break;
    slot.shrunk = true;
    errno = saved;
    return;
  }
  std::signal(number, SIG_DFL);
  std::raise(number);  // not from a mapped file: raised again after this handler
}

}  // namespace

void survive_missing_pages() {
  struct sigaction action{};
  action.sa_sigaction = on_missing_page;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
}

Status check_missing_pages() {
  const std::lock_guard lock(mutex);
  std::string path = std::exchange(closed_path, {});
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].begin != 0 && slots[i].shrunk.exchange(false)) path = paths[i];
  }
  if (path.empty()) return {};
  return Error{
      ErrorCode::Io,
      fmt::format("{} became shorter while it was read, or its disk failed; run again once "
                  "nobody writes to it",
                  shown_path(path))};
}

Result<MappedFile> MappedFile::open(const std::string& path) {
  ENGINE_ASSIGN(const RegularFile file, RegularFile::open(path));
  const std::size_t size = file.size();
  if (size == 0)
    return Error{ErrorCode::InvalidArgument, fmt::format("{} is empty", shown_path(path))};
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (address == MAP_FAILED) {
    return Error{ErrorCode::Io, fmt::format("cannot map the {} bytes of {}: {}", size,
                                            shown_path(path), std::strerror(errno))};
  }
  add_slot(address, size, path);
  return MappedFile({static_cast<const std::byte*>(address), size});
}

MappedFile::~MappedFile() {
  if (bytes_.empty()) return;
  free_slot(bytes_.data());
  // munmap takes a mutable pointer; nothing is written.
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace engine

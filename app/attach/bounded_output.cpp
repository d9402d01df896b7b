#include "app/attach/bounded_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "engine/model/unique_fd.h"

namespace app {
namespace {

constexpr std::string_view kLeftOut =
    "\n[expertscope: the middle of what the program printed is left out here]\n";
constexpr std::size_t kCopied = std::size_t{1} << 20;  // bytes at a time

engine::Status output_failure(const std::string& path, const char* what) {
  return engine::Error{engine::ErrorCode::Io,
                       fmt::format("{} cannot be {}: {}", path, what, std::strerror(errno))};
}

bool write_all(int file, std::string_view bytes, std::uint64_t at) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
    at += static_cast<std::uint64_t>(count);
  }
  return true;
}

bool begins_with_line(int file, std::uint64_t at) {
  std::string there(kLeftOut.size(), '\0');
  return ::pread(file, there.data(), there.size(), static_cast<off_t>(at)) ==
             static_cast<ssize_t>(there.size()) &&
         there == kLeftOut;
}

/// Moves the end of the file, which is further back, to `to` and cuts what is behind it. False:
/// errno.
bool move_end(int file, std::uint64_t from, std::uint64_t to) {
  std::vector<char> bytes(kCopied);
  while (true) {
    const ssize_t count = ::pread(file, bytes.data(), bytes.size(), static_cast<off_t>(from));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    if (count == 0) return ::ftruncate(file, static_cast<off_t>(to)) == 0;
    const std::string_view read(bytes.data(), static_cast<std::size_t>(count));
    if (!write_all(file, read, to)) return false;
    from += read.size();
    to += read.size();
  }
}

}  // namespace

engine::Status bound_output(const std::string& path, bool ended, const OutputLimits& limits) {
  const engine::UniqueFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  struct stat facts{};
  if (!file.valid() || ::fstat(file.get(), &facts) != 0) return output_failure(path, "opened");
  const auto size = static_cast<std::uint64_t>(facts.st_size);
  const std::uint64_t head = limits.head;
  if (size <= head + kLeftOut.size() + limits.tail) return {};
  const std::uint64_t tail = size - limits.tail;
  // The file may be much longer than what it holds: what counts is the room that it takes.
  constexpr std::uint64_t kBlock = 512;
  const std::uint64_t held = static_cast<std::uint64_t>(facts.st_blocks) * kBlock;
  if (!ended && begins_with_line(file.get(), head) && held <= head + 2 * limits.tail) return {};
  bool shortens = ended;
  if (!ended) {
    const bool punched =
        ::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(head), static_cast<off_t>(tail - head)) == 0;
    if (!punched && errno != EOPNOTSUPP) return output_failure(path, "shortened");
    // Without holes a line that is printed at this very moment may be lost; a full disk is worse.
    shortens = !punched;
  }
  if (!write_all(file.get(), kLeftOut, head)) return output_failure(path, "written");
  if (shortens && !move_end(file.get(), tail, head + kLeftOut.size())) {
    return output_failure(path, "shortened");
  }
  return {};
}

bool output_is_cut(const std::string& path, const OutputLimits& limits) {
  const engine::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file.valid() && begins_with_line(file.get(), limits.head);
}

}  // namespace app

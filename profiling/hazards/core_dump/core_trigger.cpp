#include "profiling/hazards/core_dump/core_trigger.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>
#include <vector>

#include "engine/model/broken_pipe.h"

namespace profiling {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kTriggerBytes = 1U << 20;  // a short write may not trigger
constexpr std::chrono::milliseconds kPause{50};
constexpr int kQuietPauses = 10;  // after this many pauses without growth the file is complete

/// Empty, or why the driver could not be triggered.
std::string trigger(const std::string& pipe) {
  const int descriptor = ::open(pipe.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) {
    return fmt::format("the driver's trigger {} cannot be opened: {}", pipe, std::strerror(errno));
  }
  // The driver may close its end at any time, or its process end.
  const engine::NoBrokenPipeSignal quiet;
  const std::vector<char> bytes(kTriggerBytes, '1');
  std::size_t written = 0;
  const Clock::time_point until = Clock::now() + std::chrono::seconds(2);
  while (written < bytes.size() && Clock::now() < until) {
    const ssize_t count = ::write(descriptor, bytes.data() + written, bytes.size() - written);
    if (count > 0) {
      written += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN || errno == EINTR) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } else {
      break;  // the driver has closed its end: it has been triggered
    }
  }
  ::close(descriptor);
  return written > 0 ? std::string() : "the driver did not read its trigger";
}

}  // namespace

std::optional<CoreDumpFiles> own_core_dump_files() {
  const char* pipe = std::getenv("CUDA_COREDUMP_PIPE");
  const char* file = std::getenv("CUDA_COREDUMP_FILE");
  if (pipe == nullptr || file == nullptr) return std::nullopt;
  return CoreDumpFiles{pipe, file};
}

CoreDump take_core_dump(const std::optional<CoreDumpFiles>& files, double seconds,
                        const CoreDumpWait& wait) {
  if (!files) return {};
  // An earlier one is not the answer.
  std::error_code none;
  std::filesystem::remove(files->file, none);
  if (std::string refused = trigger(files->pipe); !refused.empty())
    return {.path = {}, .missing = refused};
  const Clock::time_point until = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                     std::chrono::duration<double>(seconds));
  std::uintmax_t size = 0;
  int quiet = 0;
  bool ended = false;
  while (Clock::now() < until && quiet < kQuietPauses) {
    if (wait.give_up && wait.give_up())
      return {.path = {}, .missing = "waiting for it was cancelled"};
    // Asked before the size: what it wrote until then is counted.
    ended = wait.writer_ends && wait.writer_ends();
    if (!ended) std::this_thread::sleep_for(kPause);
    std::error_code error;
    const std::uintmax_t now = std::filesystem::file_size(files->file, error);
    if (ended && (error || now == 0))
      return {.path = {}, .missing = "the process ended before it was written"};
    if (ended) break;
    quiet = !error && now > 0 && now == size ? quiet + 1 : 0;
    if (!error) size = now;
  }
  if (quiet < kQuietPauses && !ended) {
    return {.path = {}, .missing = fmt::format("no complete core dump after {:.0f} s", seconds)};
  }
  return {.path = files->file, .missing = {}};
}

}  // namespace profiling

#include "tests/attach/stub_core_dump.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

namespace stub {
namespace {

std::atomic<bool> dumped{false};

/// A path in which %p stands for the process.
std::string path_of(const char* variable) {
  const char* value = std::getenv(variable);
  std::string path = value == nullptr ? "" : value;
  if (const std::size_t at = path.find("%p"); at != std::string::npos)
    path.replace(at, 2, std::to_string(getpid()));
  return path;
}

void answer(const std::string& pipe, const std::string& file) {
  const int descriptor = open(pipe.c_str(), O_RDONLY | O_CLOEXEC);
  char byte = 0;
  (void)!read(descriptor, &byte, 1);  // the rest finds nobody
  close(descriptor);
  std::ofstream(file) << "where the kernels are";
  dumped = true;
}

}  // namespace

void listen_for_triggers() {
  const char* enabled = std::getenv("CUDA_ENABLE_USER_TRIGGERED_COREDUMP");
  if (enabled == nullptr || std::string_view(enabled) != "1") return;
  const std::string pipe = path_of("CUDA_COREDUMP_PIPE");
  if (mkfifo(pipe.c_str(), 0600) != 0) return;
  std::thread(answer, pipe, path_of("CUDA_COREDUMP_FILE")).detach();
}

bool kernels_ended_by_dump() { return dumped; }

}  // namespace stub

// What this process holds and which processes it has: a storm's leaks show in them.
#pragma once

#include <malloc.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace app::testing {

inline std::size_t heap_bytes() {
  const struct mallinfo2 all = ::mallinfo2();
  return all.uordblks + all.hblkhd;
}

inline std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t pages = 0;
  file >> pages >> pages;
  return pages * ::sysconf(_SC_PAGESIZE);
}

inline int entries(const char* folder) {
  int count = 0;
  for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

/// Children of this process, including zombies.
inline std::vector<pid_t> children() {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0) continue;
    std::ifstream file(entry.path() / "stat");
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) continue;
    char state = 0;
    int parent = 0;
    if (std::sscanf(text.c_str() + name_end + 1, " %c %d", &state, &parent) == 2 &&
        parent == ::getpid()) {
      found.push_back(pid);
    }
  }
  return found;
}

inline bool gone(pid_t pid) {
  if (::waitpid(pid, nullptr, WNOHANG) == pid) return true;
  return ::kill(pid, 0) != 0;
}

}  // namespace app::testing

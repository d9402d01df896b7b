#include "app/protocol/descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace app {
namespace {

constexpr int kSweepMs = 5;  // between two scans

/// The first bytes of a file of /proc, which are read at once.
std::string proc_file(pid_t pid, const char* name) {
  const std::string path = "/proc/" + std::to_string(pid) + "/" + name;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::string text(4096, '\0');
  const ssize_t length = ::read(file, text.data(), text.size());
  ::close(file);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  return text;
}

using Parents = std::map<pid_t, pid_t>;

Parents parents_of_all() {
  Parents parents;
  DIR* processes = ::opendir("/proc");
  if (processes == nullptr) return parents;
  while (const dirent* entry = ::readdir(processes)) {
    const pid_t pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (pid <= 0) continue;
    const std::string line = proc_file(pid, "stat");
    // "pid (name) state parent": the name may contain anything, even a parenthesis.
    const std::size_t name_end = line.rfind(')');
    int parent = 0;
    if (name_end != std::string::npos &&
        std::sscanf(line.c_str() + name_end, ") %*c %d", &parent) == 1) {
      parents[pid] = parent;
    }
  }
  ::closedir(processes);
  return parents;
}

void kill_below(const Parents& parents, const std::vector<pid_t>& tops) {
  for (const auto& [pid, parent] : parents) {
    pid_t ancestor = parent;
    // Read while processes came and went, so a cycle is possible: walk at most as many steps as
    // entries.
    for (std::size_t steps = 0; steps < parents.size() && ancestor > 1; ++steps) {
      if (std::ranges::find(tops, ancestor) != tops.end()) {
        ::kill(pid, SIGKILL);
        break;
      }
      const auto above = parents.find(ancestor);
      ancestor = above == parents.end() ? 0 : above->second;
    }
  }
}

rlim_t own_limit() {
  rlimit own{};
  return ::getrlimit(RLIMIT_LOCKS, &own) == 0 ? own.rlim_max : 0;
}

/// Whether the process itself is marked: a mark below that of this process comes from here.
bool is_marked(pid_t pid, rlim_t own) {
  // "Max file locks            unlimited            unlimited            locks"
  const std::string limits = proc_file(pid, "limits");
  const std::size_t line = limits.find("Max file locks");
  if (line == std::string::npos) return false;
  char hard[32] = {};
  if (std::sscanf(limits.c_str() + line, "Max file locks %*s %31s", hard) != 1) return false;
  if (std::strcmp(hard, "unlimited") == 0) return false;
  return std::strtoull(hard, nullptr, 10) < own;
}

std::vector<pid_t> marked_children(const Parents& parents) {
  const rlim_t own = own_limit();
  const pid_t self = ::getpid();
  std::vector<pid_t> marked;
  for (const auto& [pid, parent] : parents) {
    if (parent == self && is_marked(pid, own)) marked.push_back(pid);
  }
  return marked;
}

}  // namespace

void mark_for_parent() {
  // One less than the parent's: a program that was marked itself can mark what it starts.
  const rlim_t above = own_limit();
  if (above == 0) return;
  const rlim_t mark = std::min<rlim_t>(above, rlim_t{1} << 62U) - 1;
  const rlimit lowered{.rlim_cur = mark, .rlim_max = mark};
  ::setrlimit(RLIMIT_LOCKS, &lowered);
}

void adopt_orphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

void kill_descendants() { kill_below(parents_of_all(), {::getpid()}); }

bool end_orphans(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (true) {
    const Parents parents = parents_of_all();
    const std::vector<pid_t> orphans = marked_children(parents);
    if (orphans.empty()) return true;
    kill_below(parents, orphans);
    for (const pid_t orphan : orphans) {
      ::kill(orphan, SIGKILL);
      ::waitpid(orphan, nullptr, WNOHANG);
    }
    if (std::chrono::steady_clock::now() > deadline) return false;
    ::poll(nullptr, 0, kSweepMs);
  }
}

}  // namespace app

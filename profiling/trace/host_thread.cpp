#include "profiling/trace/host_thread.h"

#include <fmt/format.h>

#include <fstream>
#include <string>

namespace profiling {
namespace {

std::string first_line(std::int64_t thread, const char* file) {
  std::ifstream stream(fmt::format("/proc/self/task/{}/{}", thread, file));
  std::string line;
  std::getline(stream, line);
  return line;
}

}  // namespace

std::string host_thread_text(std::int64_t thread) {
  // "12 (a name) S ...": the name may contain anything, including a closing parenthesis.
  const std::string stat = first_line(thread, "stat");
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= stat.size()) {
    return "its state is unknown";
  }
  const char state = stat[name_end + 2];
  if (state == 'R') return "it runs on a core, so the call is polling";
  // Readable for the process's own threads; "0" while a thread runs, or if the kernel hides it.
  const std::string channel = first_line(thread, "wchan");
  const bool known = !channel.empty() && channel != "0";
  return fmt::format("it {} in the kernel{}", state == 'D' ? "waits uninterruptibly" : "sleeps",
                     known ? ", in " + channel : std::string());
}

}  // namespace profiling

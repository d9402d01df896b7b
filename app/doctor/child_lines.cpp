#include "app/doctor/child_lines.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <memory>

#include "app/protocol/child_process.h"
#include "app/protocol/descriptor.h"

namespace app {
namespace {

constexpr int kPollMs = 100;

}  // namespace

engine::Result<std::optional<std::string>> run_for_lines(
    const std::vector<std::string>& argv, ChildStream stream,
    const std::function<void(const std::string&)>& line, const std::function<bool()>& stop) {
  const engine::Result<std::unique_ptr<ChildProcess>> started = ChildProcess::start(argv);
  if (!started.ok()) return started.error();
  ChildProcess& child = *started.value();
  const int descriptor = (stream == ChildStream::Output ? child.output : child.errors).get();
  LineSplitter lines;
  std::array<char, 4096> bytes;
  while (!stop()) {
    pollfd ready{descriptor, POLLIN, 0};
    if (::poll(&ready, 1, kPollMs) > 0) {
      const ssize_t count = ::read(descriptor, bytes.data(), bytes.size());
      if (count > 0) {
        for (const std::string& one :
             lines.append({bytes.data(), static_cast<std::size_t>(count)})) {
          line(one);
        }
        continue;
      }
      ::usleep(1000 * kPollMs);  // its output is closed; it is about to exit
    }
    if (std::optional<std::string> end = child.try_reap()) return end;
  }
  child.kill_all();
  return std::optional<std::string>();
}

}  // namespace app

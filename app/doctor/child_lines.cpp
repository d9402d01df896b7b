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
  ENGINE_ASSIGN(const std::unique_ptr<ChildProcess> started, ChildProcess::start(argv));
  ChildProcess& child = *started;
  // The stream that is not asked for is read too: the child would block once that pipe is full.
  const bool output = stream == ChildStream::Output;
  std::array<pollfd, 2> pipes = {{{(output ? child.output : child.errors).get(), POLLIN, 0},
                                  {(output ? child.errors : child.output).get(), POLLIN, 0}}};
  LineSplitter lines;
  std::array<char, 4096> bytes;
  const auto read_for = [&](int milliseconds) {
    if (::poll(pipes.data(), pipes.size(), milliseconds) <= 0) return false;
    for (pollfd& pipe : pipes) {
      if (pipe.revents == 0) continue;
      const ssize_t count = ::read(pipe.fd, bytes.data(), bytes.size());
      if (count <= 0) pipe.fd = -1;  // closed: poll() leaves it out
      if (count <= 0 || &pipe != &pipes.front()) continue;
      for (const std::string& one : lines.append({bytes.data(), static_cast<std::size_t>(count)})) {
        line(one);
      }
    }
    return true;
  };
  while (!stop()) {
    if (read_for(kPollMs)) continue;
    std::optional<std::string> end = child.try_reap();
    if (!end) continue;
    while (!stop() && read_for(0)) {
    }
    if (const std::string rest = lines.rest(); !rest.empty()) line(rest);
    return end;
  }
  child.kill_all();
  return std::optional<std::string>();
}

}  // namespace app

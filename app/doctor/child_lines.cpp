#include "app/doctor/child_lines.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <memory>

#include "app/protocol/child_process.h"

namespace app {
namespace {

constexpr int kPollMs = 100;

void hand_on_lines(std::string& buffer, const std::function<void(const std::string&)>& line) {
  for (auto end = buffer.find_first_of("\r\n"); end != std::string::npos;
       end = buffer.find_first_of("\r\n")) {
    if (end > 0) line(buffer.substr(0, end));
    buffer.erase(0, end + 1);
  }
}

}  // namespace

engine::Result<std::optional<std::string>> run_for_lines(
    const std::vector<std::string>& argv, ChildStream stream,
    const std::function<void(const std::string&)>& line, const std::function<bool()>& stop) {
  const engine::Result<std::unique_ptr<ChildProcess>> started = ChildProcess::start(argv);
  if (!started.ok()) return started.error();
  ChildProcess& child = *started.value();
  const int descriptor = (stream == ChildStream::Output ? child.output : child.errors).get();
  std::string buffer;
  std::array<char, 4096> bytes;
  while (!stop()) {
    pollfd ready{descriptor, POLLIN, 0};
    if (::poll(&ready, 1, kPollMs) > 0) {
      const ssize_t count = ::read(descriptor, bytes.data(), bytes.size());
      if (count > 0) {
        buffer.append(bytes.data(), static_cast<std::size_t>(count));
        hand_on_lines(buffer, line);
        continue;
      }
      ::usleep(1000 * kPollMs);  // its end is closed; it is about to end
    }
    if (std::optional<std::string> end = child.try_reap()) return end;
  }
  child.kill_group();
  return std::optional<std::string>();
}

}  // namespace app

#include "app/protocol/descriptor.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace app {

void set_write_signals(ClosedPipe closed_pipe) {
  ::signal(SIGXFSZ, SIG_IGN);
  if (closed_pipe == ClosedPipe::FailsWrite) ::signal(SIGPIPE, SIG_IGN);
}

bool write_until_stopped(int pipe, std::string_view bytes, int stop) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(pipe, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      std::array<pollfd, 2> waits = {pollfd{pipe, POLLOUT, 0}, pollfd{stop, POLLIN, 0}};
      ::poll(waits.data(), waits.size(), -1);
      if (waits[1].revents != 0) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace app

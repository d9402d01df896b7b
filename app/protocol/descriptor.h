// File descriptors: writes that cannot complete, and lines out of a stream of bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/model/unique_fd.h"

namespace app {

using engine::UniqueFd;

/// What a write to a closed pipe does.
enum class ClosedPipe {
  EndsProgram,  // a command whose output goes to `head` has nothing left to do
  FailsWrite,
};
/// The first call in main() of every program: a write beyond the file size limit (ulimit -f) fails
/// that write and does not end the program. Children get the default signal actions back.
void set_write_signals(ClosedPipe closed_pipe);

/// False when the pipe is broken or `stop` (an eventfd) became readable first. The calling thread
/// must have SIGPIPE blocked or ignored.
bool write_until_stopped(int pipe, std::string_view bytes, int stop);

/// Bytes in, lines out. An unterminated line is cut, so that a talkative child cannot fill memory.
class LineSplitter {
 public:
  static constexpr std::size_t kMaxLineBytes = 8192;

  /// The lines that these bytes complete; empty ones are left out. A carriage return also ends a
  /// line, for progress bars.
  std::vector<std::string> append(std::string_view bytes) {
    std::vector<std::string> lines;
    for (const char c : bytes) {
      const bool ends = c == '\n' || c == '\r';
      if (!ends) line_ += c;
      if ((ends && !line_.empty()) || line_.size() >= kMaxLineBytes) {
        lines.push_back(std::exchange(line_, {}));
      }
    }
    return lines;
  }
  /// The unterminated rest.
  std::string rest() { return std::exchange(line_, {}); }

 private:
  std::string line_;
};

}  // namespace app

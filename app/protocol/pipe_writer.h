// Writes that cannot complete: what they do to the program, and writing to a pipe whose reader may
// never read.
#pragma once

#include <string_view>

namespace app {

/// What happens on a write to a pipe whose reader has closed it.
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

}  // namespace app

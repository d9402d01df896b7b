// Writes that cannot be finished: what they do to the program, and a pipe whose reader may never
// read.
#pragma once

#include <string_view>

namespace app {

/// What a write into a pipe that nobody reads any more does.
enum class ClosedPipe {
  EndsProgram,  // a command whose output goes to `head` has nothing left to do
  FailsWrite,
};
/// First thing in main() of every program: a write beyond the limit on file sizes (ulimit -f) is an
/// error of that write, not the end of the program. Children get the defaults back.
void set_write_signals(ClosedPipe closed_pipe);

/// False when the pipe is broken or `stop` (an eventfd) became readable first. The calling thread
/// must have SIGPIPE blocked or ignored.
bool write_until_stopped(int pipe, std::string_view bytes, int stop);

}  // namespace app

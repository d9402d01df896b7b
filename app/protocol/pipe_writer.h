// Writes to a non-blocking pipe whose reader may never read, until done or told to stop.
#pragma once

#include <string_view>

namespace app {

/// False when the pipe is broken or `stop` (an eventfd) became readable first. The calling thread
/// must have SIGPIPE blocked or ignored.
bool write_until_stopped(int pipe, std::string_view bytes, int stop);

}  // namespace app

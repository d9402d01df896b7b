// Text of a stranger (a worker, a file) for a terminal: nothing in it is obeyed.
#pragma once

#include <string>
#include <string_view>

namespace app {

/// As engine::shown_text(), of any length. CSV's line ends (CR LF) stay: the line that the carriage
/// return goes back in is over anyway.
std::string terminal_text(std::string_view text);

}  // namespace app

// Untrusted text (from a worker or a file) for a terminal: control characters in it have no effect.
#pragma once

#include <string>
#include <string_view>

namespace app {

/// Like engine::shown_text(), of any length. CSV's line ends (CR LF) stay: the line that the
/// carriage return goes back in is complete anyway.
std::string terminal_text(std::string_view text);

}  // namespace app

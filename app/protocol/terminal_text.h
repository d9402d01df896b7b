// Untrusted text (from a worker or a file) for a terminal: control characters in it have no effect.
#pragma once

#include <string>
#include <string_view>

namespace app {

/// Like engine::shown_text(), but of any length. CSV's line ends (CR LF) stay: such a carriage
/// return only returns over a line that is already complete.
std::string terminal_text(std::string_view text);

}  // namespace app

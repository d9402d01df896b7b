// The lines a child process prints, until it ends.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/error.h"

namespace app {

enum class ChildStream { Output, Errors };

/// Starts the program, passes on every line of that stream, and returns how it ended ("exited with
/// code 0"). A carriage return also ends a line, for progress bars. Empty = `stop` was set and the
/// program was killed.
engine::Result<std::optional<std::string>> run_for_lines(
    const std::vector<std::string>& argv, ChildStream stream,
    const std::function<void(const std::string&)>& line, const std::function<bool()>& stop);

}  // namespace app

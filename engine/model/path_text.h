// Paths in messages, and why the system refuses one.
#pragma once

#include <string>
#include <string_view>

namespace engine {

/// What follows the last slash; the whole text if there is none.
constexpr std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

/// As it is, or its two ends if it has more bytes than any path that people type.
std::string shown_path(std::string_view path);

/// The system's text for `error`, an errno. If the path is too long, the text also gives its
/// lengths, their limits and the remedy.
std::string path_error_text(std::string_view path, int error);

}  // namespace engine

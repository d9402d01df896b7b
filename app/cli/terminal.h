// All that the command line prints. What workers and files say is in most of it, so that all of it
// is made safe for a terminal here; only the progress line's own commands pass.
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "app/protocol/terminal_text.h"

namespace app::cli {

inline void write_text(std::FILE* stream, std::string_view text) {
  const std::string safe = terminal_text(text);
  const std::size_t written = std::fwrite(safe.data(), 1, safe.size(), stream);
  // Of results nobody gets there is no use in making more; without words on stderr life goes on.
  if (written < safe.size() && stream == stdout) {
    throw std::system_error(errno, std::generic_category(), "standard output cannot be written");
  }
}

template <class... Values>
void print(std::FILE* stream, fmt::format_string<Values...> format, Values&&... values) {
  write_text(stream, fmt::format(format, std::forward<Values>(values)...));
}
template <class... Values>
void print(fmt::format_string<Values...> format, Values&&... values) {
  write_text(stdout, fmt::format(format, std::forward<Values>(values)...));
}

/// Replaces the line of a terminal that the cursor is in; empty = wipes it.
inline void show_line(std::string_view text) {
  std::fputs("\r\x1b[K", stderr);
  write_text(stderr, text);
  std::fflush(stderr);
}

}  // namespace app::cli

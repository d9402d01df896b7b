// All output of the command line. Most of it contains text from workers and files, so everything is
// made safe for a terminal here; only the progress line's own escape sequences pass.
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
  // Results that cannot be written are not worth computing; stderr may fail without ending the
  // program.
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

/// Replaces the terminal line that the cursor is in; empty = erases it.
inline void show_line(std::string_view text) {
  std::fputs("\r\x1b[K", stderr);
  write_text(stderr, text);
  std::fflush(stderr);
}

}  // namespace app::cli

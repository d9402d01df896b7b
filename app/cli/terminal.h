// Terminal input and output of the command line: text, made safe for a terminal here because most
// of it comes from workers and files; numbers; the progress line, whose own escape sequences pass;
// Ctrl+C.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "app/protocol/worker_link.h"
#include "app/sweep/batch.h"

namespace app::cli {

/// Throws std::system_error if stdout cannot be written: results that cannot be written are not
/// worth computing. stderr may fail without ending the program.
void write_text(std::FILE* stream, std::string_view text);

template <class... Values>
void print(std::FILE* stream, fmt::format_string<Values...> format, Values&&... values) {
  write_text(stream, fmt::format(format, std::forward<Values>(values)...));
}
template <class... Values>
void print(fmt::format_string<Values...> format, Values&&... values) {
  write_text(stdout, fmt::format(format, std::forward<Values>(values)...));
}

/// Replaces the terminal line that the cursor is in; empty = erases it.
void show_line(std::string_view text);

/// Two decimals and the unit; "exact" where there is no noise, "none" where there is no signal.
std::string decibels(double value, const char* unit = "");
/// JSON has no such numbers: null for one that is not known, and what Protobuf's JSON writes for
/// infinity.
nlohmann::ordered_json json_number(double value);
nlohmann::ordered_json text_or_null(const std::string& text);
/// A warning on stderr if runs may be missing in this recording; `doubt`:
/// profiling::Session::doubt.
void warn_if_incomplete(const std::string& path, const std::string& doubt);
/// Of now: UTC, ISO 8601.
std::string date_text();

/// One line with the progress of a run; shows nothing if there is no terminal.
class ProgressBar {
 public:
  explicit ProgressBar(bool visible) : visible_(visible) {}
  ProgressBar(const ProgressBar&) = delete;  // one line has one owner
  ProgressBar& operator=(const ProgressBar&) = delete;
  /// Erases the line, so that the next output starts on a clean line.
  ~ProgressBar();
  void show(const LinkStatus& status);
  /// The progress of one of several runs.
  void show(const LinkStatus& status, const BatchProgress& progress);

 private:
  bool visible_;
};

/// Ctrl+C while a command works: the first one is noted, a second one ends the program as usual.
/// Watches from construction to destruction; one at a time.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  bool seen() const { return flag(); }
  /// For those who poll it from another thread.
  const std::atomic<bool>& flag() const;

 private:
  struct sigaction before_{};
};

}  // namespace app::cli

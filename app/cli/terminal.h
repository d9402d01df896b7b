// Terminal input and output of the command line: text, made safe for a terminal here because most
// of it comes from workers and files; numbers; the progress line, whose own escape sequences pass;
// Ctrl+C.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/protocol/worker_link.h"
#include "app/sweep/batch.h"
#include "profiling/document/document.h"

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

inline constexpr std::size_t kScreenRows = 32;  // of a table: a screenful

/// Of the terminal behind the stream; 0 where it is none.
std::size_t columns_of_terminal(std::FILE* stream);

/// With as many columns of each table as the terminal has room for, and at most so many rows.
void print_document(const profiling::Document& document, std::size_t most_rows = kScreenRows);

/// Replaces the terminal line that the cursor is in; empty = erases it.
void show_line(std::string_view text);

/// JSON has no such numbers: null for one that is not known, and what Protobuf's JSON writes for
/// infinity.
nlohmann::ordered_json json_number(double value);
nlohmann::ordered_json text_or_null(const std::string& text);
/// A warning on stderr if runs may be missing in this recording; `doubt`:
/// profiling::Session::doubt.
void warn_if_incomplete(const std::string& path, const std::string& doubt);
/// The current time: UTC, ISO 8601.
std::string date_text();

/// Share of the work that is done, 0 to 1, whatever was reported. NaN is 0.
double share_within(double fraction);
inline constexpr std::size_t kBarCells = 16;
/// "[######......]"
std::string bar_text(double fraction, std::size_t cells);

/// Progress on stderr. On a terminal it is one line that is replaced. Elsewhere, where it may be a
/// log, it is a plain line every 10 s: a long run must not look like one that hangs, and must not
/// flood the log.
class ProgressLine {
 public:
  enum class Style : std::uint8_t { Replaced, Logged };
  static constexpr std::chrono::milliseconds kLogInterval{10000};

  /// Replaced if stderr is a terminal, otherwise Logged.
  ProgressLine();
  explicit ProgressLine(Style style, std::chrono::milliseconds interval = kLogInterval)
      : style_(style), interval_(interval) {}
  ProgressLine(const ProgressLine&) = delete;  // one line has one owner
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() { erase(); }

  /// `replaced` is for a terminal, `logged` for a log.
  void show(const std::string& replaced, const std::string& logged);
  /// So that the next output starts on a clean line.
  void erase();

 private:
  using Clock = std::chrono::steady_clock;
  Style style_;
  std::chrono::milliseconds interval_;  // between two lines of a log
  Clock::time_point started_ = Clock::now();
  Clock::time_point logged_ = started_;
  bool drawn_ = false;
};

/// The progress of a run, or of one of several.
class ProgressBar {
 public:
  void show(const LinkStatus& status);
  void show(const LinkStatus& status, const BatchProgress& progress);
  void erase() { line_.erase(); }

 private:
  void show(double fraction, const std::string& text);
  ProgressLine line_;
};

/// Ctrl+C while a command works: the first one is noted, a second one ends the program as usual.
/// Watches from construction to destruction; one at a time. Whoever must not be ended by another
/// signal either names all of them.
class InterruptWatch {
 public:
  explicit InterruptWatch(std::initializer_list<int> signals = {SIGINT});
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  bool seen() const { return flag(); }
  /// Watches for the next one, which would end this program.
  void rearm();
  /// The first one that came; 0 = none has.
  int signal() const;
  /// For those who poll it from another thread.
  const std::atomic<bool>& flag() const;

 private:
  std::vector<std::pair<int, struct sigaction>> before_;
};

}  // namespace app::cli

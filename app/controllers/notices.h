// Messages to the user, in one list and one line of the status bar. What went well, and warnings,
// leave the list after a while; errors stay until they are dismissed.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace app {

enum class Severity { Good, Warn, Bad };

class Notices {
 public:
  using Clock = std::chrono::steady_clock;
  struct Notice {
    Severity severity = Severity::Good;
    std::string text;
    Clock::time_point at{};
  };
  /// The newest message, whichever kind it is.
  struct Line {
    std::string text;
    std::optional<Severity> severity{};  // of a notice; none = what was just done
  };
  static constexpr std::chrono::seconds kShown{12};
  static constexpr std::size_t kMost = 30;

  /// A text that is already listed only moves to the end.
  void add(Severity severity, std::string text, Clock::time_point now = Clock::now());
  void dismiss(std::size_t index);
  void clear();
  /// What is not an error has been read.
  void clear_read();
  /// Drops what has been shown long enough, also of the status line; true if there was any.
  bool expire(Clock::time_point now = Clock::now());
  const std::vector<Notice>& all() const { return notices_; }
  std::size_t errors() const;

  /// What was just done, or why it was not possible; empty clears it.
  void set_status(std::string message, Clock::time_point now = Clock::now());
  const std::string& status_message() const { return status_message_; }
  Line line() const;

  /// True once after anything changed.
  bool take_changed() { return std::exchange(changed_, false); }

 private:
  std::vector<Notice> notices_;  // oldest first
  std::string status_message_;
  Clock::time_point status_at_{};
  bool changed_ = false;
};

}  // namespace app

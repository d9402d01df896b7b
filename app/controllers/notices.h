// Messages to the user: notices above the page, which stay until dismissed, and one line in the
// status bar, which the next one replaces.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace app {

enum class Severity { Good, Warn, Bad };

struct Notice {
  Severity severity = Severity::Good;
  std::string text;
};

class Notices {
 public:
  /// A text that is already shown only moves to the end.
  void add(Severity severity, std::string text);
  void dismiss(std::size_t index);
  void clear();
  const std::vector<Notice>& all() const { return notices_; }

  /// What was just done, or why it was not possible; empty clears it.
  void set_status(std::string message);
  const std::string& status_message() const { return status_message_; }

  /// True once after anything changed.
  bool take_changed() { return std::exchange(changed_, false); }

 private:
  std::vector<Notice> notices_;
  std::string status_message_;
  bool changed_ = false;
};

}  // namespace app

// Bytes in, lines out. An unterminated line is cut, so that a talkative child cannot fill memory.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace app {

class LineSplitter {
 public:
  static constexpr std::size_t kMaxLineBytes = 8192;

  /// The lines that these bytes complete; empty ones are left out. A carriage return also ends a
  /// line, for progress bars.
  std::vector<std::string> append(std::string_view bytes) {
    std::vector<std::string> lines;
    for (const char c : bytes) {
      const bool ends = c == '\n' || c == '\r';
      if (!ends) line_ += c;
      if ((ends && !line_.empty()) || line_.size() >= kMaxLineBytes) {
        lines.push_back(std::exchange(line_, {}));
      }
    }
    return lines;
  }
  /// The unterminated rest.
  std::string rest() { return std::exchange(line_, {}); }

 private:
  std::string line_;
};

}  // namespace app

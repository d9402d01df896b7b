// Reads only what a list of names needs; what the names stand for is ssh's own business. Size,
// depth and number of files are limited, because a configuration may include itself.
#include "app/remote/ssh_hosts.h"

#include <glob.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <set>
#include <string_view>
#include <utility>

#include "app/protocol/worker_command.h"
#include "engine/input/regular_file.h"

namespace app {
namespace {

constexpr std::size_t kMaxFileBytes = 1 << 20;
constexpr int kMaxDepth = 16;  // as ssh has it
constexpr std::size_t kMaxFiles = 256;
constexpr std::size_t kMaxHosts = 2000;
constexpr std::size_t kMaxName = 255;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }

/// The words of a line. The first ends at a blank or at '='; quotes keep blanks in a word, and what
/// follows a '#' at the beginning of a word is a comment.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  std::size_t at = 0;
  const auto skip_blanks = [&] {
    while (at < line.size() && is_blank(line[at])) ++at;
  };
  while (true) {
    skip_blanks();
    // One '=' may stand between the keyword and its values.
    if (words.size() == 1 && at < line.size() && line[at] == '=') {
      ++at;
      skip_blanks();
    }
    if (at >= line.size() || line[at] == '#') return words;
    std::string word;
    bool quoted = false;
    for (; at < line.size(); ++at) {
      const char c = line[at];
      if (c == '"') {
        quoted = !quoted;
      } else if (!quoted && (is_blank(c) || (words.empty() && c == '='))) {
        break;
      } else {
        word += c;
      }
    }
    words.push_back(std::move(word));
  }
}

bool is_keyword(std::string_view word, std::string_view keyword) {
  return std::ranges::equal(word, keyword, [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == b;
  });
}

bool names_one_machine(const std::string& word) {
  return word.size() <= kMaxName && word.find_first_of("*?!") == std::string::npos &&
         check_machine_name(word).ok();
}

class Reading {
 public:
  explicit Reading(std::string home) : home_(std::move(home)) {}

  void read(const std::string& path, int depth) {
    if (depth > kMaxDepth || ++files_ > kMaxFiles) return;
    const engine::Result<std::string> text = engine::read_file(path, kMaxFileBytes);
    if (!text.ok()) return;
    std::string_view rest = text.value();
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      take(rest.substr(0, end), depth);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  std::vector<std::string> hosts() const { return {hosts_.begin(), hosts_.end()}; }

 private:
  void take(std::string_view line, int depth) {
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) return;
    if (is_keyword(words.front(), "host")) {
      for (std::size_t i = 1; i < words.size() && hosts_.size() < kMaxHosts; ++i) {
        if (names_one_machine(words[i])) hosts_.insert(words[i]);
      }
    } else if (is_keyword(words.front(), "include")) {
      for (std::size_t i = 1; i < words.size(); ++i) include(words[i], depth);
    }
  }

  void include(const std::string& pattern, int depth) {
    if (pattern.empty()) return;
    std::string path = home_ + "/.ssh/" + pattern;
    if (pattern.front() == '/') path = pattern;
    if (pattern.starts_with("~/")) path = home_ + pattern.substr(1);
    glob_t found{};
    // Without GLOB_NOCHECK, a pattern that fits nothing finds nothing.
    if (::glob(path.c_str(), 0, nullptr, &found) == 0) {
      for (std::size_t i = 0; i < found.gl_pathc && files_ < kMaxFiles; ++i) {
        read(found.gl_pathv[i], depth + 1);
      }
    }
    ::globfree(&found);
  }

  const std::string home_;
  std::set<std::string> hosts_;
  std::size_t files_ = 0;
};

}  // namespace

std::vector<std::string> ssh_hosts(const std::string& home) {
  if (home.empty()) return {};
  Reading reading(home);
  reading.read(home + "/.ssh/config", 0);
  return reading.hosts();
}

}  // namespace app

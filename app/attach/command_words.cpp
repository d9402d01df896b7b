#include "app/attach/command_words.h"

#include <fmt/format.h>

#include <cctype>
#include <cstddef>
#include <utility>

namespace app {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kForAShell = "|&;<>()$`*";
constexpr std::string_view kForAShellInQuotes = "$`";

engine::Error refused(std::string why) {
  return {engine::ErrorCode::InvalidArgument, std::move(why)};
}

engine::Error needs_shell(char c, std::size_t at) {
  return refused(
      fmt::format("The '{}' at character {} would need a shell, and none is used: put it into "
                  "single quotes, or run sh -c '...'",
                  c, at + 1));
}

bool sets_variable(std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  if (name.empty() || name.size() == word.size()) return false;
  if (std::isdigit(static_cast<unsigned char>(name.front())) != 0) return false;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') return false;
  }
  return true;
}

}  // namespace

engine::Result<std::vector<std::string>> command_words(std::string_view text) {
  std::vector<std::string> words;
  bool inside = false;  // of a word
  char quote = '\0';
  std::size_t opened = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == '\0' && kBlanks.find(c) != std::string_view::npos) {
      inside = false;
      continue;
    }
    if (!std::exchange(inside, true)) {
      words.emplace_back();
      if (c == '~') return needs_shell(c, i);
    }
    std::string& word = words.back();
    if (c == quote) {
      quote = '\0';
    } else if (quote == '\'') {
      word += c;
    } else if (c == '\\') {
      if (i + 1 == text.size()) {
        return refused("The backslash at the end of the command has nothing to quote");
      }
      const char next = text[++i];
      // Inside double quotes it is itself, except before what would mean something there.
      if (quote == '"' && std::string_view("\"\\$`").find(next) == std::string_view::npos)
        word += c;
      word += next;
    } else if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
      opened = i;
    } else if ((quote == '\0' ? kForAShell : kForAShellInQuotes).find(c) !=
               std::string_view::npos) {
      return needs_shell(c, i);
    } else {
      word += c;
    }
  }
  if (quote != '\0') {
    return refused(
        fmt::format("The quote {} at character {} is not closed: close it, or put a backslash "
                    "before it",
                    quote, opened + 1));
  }
  if (words.empty()) {
    return refused("Type the command to run, as in a terminal: python train.py --steps 10");
  }
  if (sets_variable(words.front())) words.insert(words.begin(), "env");
  return words;
}

}  // namespace app

#include "app/protocol/typed_words.h"

#include <fmt/format.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/protocol/worker_command.h"
#include "engine/model/text.h"

namespace app {
namespace {

constexpr std::size_t kShownBytes = 40;  // of the text behind a quote

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

engine::Error refused(std::string why) {
  return {engine::ErrorCode::InvalidArgument, std::move(why)};
}

engine::Error needs_shell(std::string_view typed, std::size_t at) {
  return refused(fmt::format(
      "the '{}' at character {} would need a shell, and none is used; put it into single quotes, "
      "or type sh -c '...'",
      typed[at], at + 1));
}

engine::Error not_closed(std::string_view typed, std::size_t opened) {
  const std::string behind =
      opened + 1 == typed.size()
          ? "nothing"
          : fmt::format("'{}'", engine::shown_text(typed.substr(opened + 1), kShownBytes));
  return refused(fmt::format(
      "the quote in front of {} is not closed; type another {} at its end, or \\{} for the "
      "character itself",
      behind, typed[opened], typed[opened]));
}

/// Reads one word at `at` and moves on behind it.
engine::Result<std::string> word_at(std::string_view typed, std::size_t& at) {
  constexpr std::string_view kForAShell = "|&;<>()$`*";
  constexpr std::string_view kForAShellInQuotes = "$`";
  std::string word;
  char quote = 0;
  std::size_t opened = 0;
  if (typed[at] == '~') return needs_shell(typed, at);
  for (; at < typed.size() && (quote != 0 || !is_blank(typed[at])); ++at) {
    const char c = typed[at];
    const bool last = at + 1 == typed.size();
    if (c == quote) {
      quote = 0;
    } else if (quote == '\'') {
      word += c;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
      opened = at;
    } else if (c == '\\' && quote == 0) {
      if (last) return refused("nothing follows the last \\; type \\\\ for a backslash itself");
      word += typed[++at];
    } else if (c == '\\' && !last &&
               std::string_view("\"\\$`").find(typed[at + 1]) != std::string_view::npos) {
      word += typed[++at];
    } else if ((quote == 0 ? kForAShell : kForAShellInQuotes).find(c) != std::string_view::npos) {
      return needs_shell(typed, at);
    } else {
      word += c;
    }
  }
  if (quote != 0) return not_closed(typed, opened);
  return word;
}

}  // namespace

engine::Result<std::vector<std::string>> words_of(std::string_view typed) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < typed.size();) {
    if (is_blank(typed[at])) {
      ++at;
      continue;
    }
    ENGINE_ASSIGN(std::string word, word_at(typed, at));
    words.push_back(std::move(word));
  }
  return words;
}

std::string typed_words(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    line += shell_word(word);
  }
  return line;
}

std::string shown_words(const std::vector<std::string>& words) {
  std::string shown;
  for (const std::string& word : words) {
    shown += (shown.empty() ? "" : ", ") +
             nlohmann::json(word).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  return "[" + shown + "]";
}

}  // namespace app

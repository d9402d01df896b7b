#include "app/cli/typed_line.h"

#include <algorithm>
#include <utility>

#include "app/cli/request_options.h"
#include "app/controllers/field_words.h"
#include "app/protocol/worker_command.h"
#include "engine/model/text.h"

namespace app::cli {
namespace {

std::vector<std::string>& typed_words() {
  static std::vector<std::string> words;
  return words;
}

/// Whether a typed word is the option of these names, with or without its value.
bool is_option_of(const std::vector<std::string>& names, std::string_view word) {
  if (!word.starts_with("--")) return false;
  const std::string typed = engine::plain_word(word.substr(2, word.find('=') - 2));
  return std::ranges::find(names, typed, engine::plain_word) != names.end();
}

}  // namespace

void note_typed_words(std::vector<std::string> words) { typed_words() = std::move(words); }

std::string typed_command_with(const std::vector<std::string>& names, const std::string& value) {
  std::vector<std::string> words;
  bool is_replaced = false;
  for (const std::string& word : typed_words()) {
    if (!words.empty() && is_option_of(names, words.back()) &&
        words.back().find('=') == std::string::npos) {
      words.push_back(value);
      is_replaced = true;
    } else if (is_option_of(names, word) && word.find('=') != std::string::npos) {
      words.push_back(word.substr(0, word.find('=') + 1) + value);
      is_replaced = true;
    } else {
      words.push_back(word);
    }
  }
  if (!is_replaced) words.insert(words.end(), {"--" + names.back(), value});
  std::string text = "expertscope";
  for (const std::string& word : words) text += " " + shell_word(word);
  return text;
}

std::string typed_option(std::string_view field) {
  const std::vector<RequestOption> options = request_options();
  const auto option = std::ranges::find(options, field, &RequestOption::path);
  if (option == options.end()) return {};
  for (const std::string& word : typed_words()) {
    if (word == "--") break;  // only values follow
    if (is_option_of(option->all_names(), word)) return word.substr(0, word.find('='));
  }
  return {};
}

std::string message_as_typed(const engine::Error& error) {
  return message_naming(error, typed_option);
}

std::string message_naming(const engine::Error& error,
                           const std::function<std::string(std::string_view path)>& typed_name) {
  std::string message = error.message;
  std::string named;
  // A path of one word, "step", is a word of sentences as well: it is replaced only as the subject.
  if (!error.field.empty() && message.starts_with(error.field + ' ')) {
    if (const std::string typed = typed_name(error.field); !typed.empty()) {
      message.replace(0, error.field.size(), typed);
      named = error.field;  // `typed` may contain it
    }
  }
  for (const RequestOption& option : request_options()) {
    if (option.path.find('.') == std::string::npos || option.path == named) continue;
    if (message.find(option.path) == std::string::npos) continue;
    if (const std::string typed = typed_name(option.path); !typed.empty()) {
      replace_words(message, option.path, typed);
    }
  }
  return message;
}

}  // namespace app::cli

#include "app/attach/command_words.h"

#include <cctype>

#include "app/protocol/typed_words.h"

namespace app {
namespace {

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
  ENGINE_ASSIGN(std::vector<std::string> words, words_of(text));
  if (words.empty()) {
    return engine::Error{engine::ErrorCode::InvalidArgument,
                         "type the command to run, as in a terminal: python train.py --steps 10"};
  }
  if (sets_variable(words.front())) words.insert(words.begin(), "env");
  return words;
}

}  // namespace app

#include "app/controllers/field_words.h"

#include <fmt/format.h>

#include "app/controllers/request_controls.h"
#include "engine/model/leaves.h"
#include "engine/model/run_request.h"

namespace app {
namespace {

bool is_part_of_name(char c) {
  return c == '_' || c == '-' || c == '.' || c == '/' || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

void replace_words(std::string& text, std::string_view name, std::string_view with) {
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
    const std::size_t end = at + name.size();
    const bool sentence_ends =
        end < text.size() && text[end] == '.' && (end + 1 == text.size() || text[end + 1] == ' ');
    const bool begins = at == 0 || !is_part_of_name(text[at - 1]);
    const bool ends = end == text.size() || sentence_ends || !is_part_of_name(text[end]);
    if (begins && ends) {
      text.replace(at, name.size(), with);
      at += with.size();
    } else {
      at = end;
    }
  }
}

std::string in_rail_words(std::string message) {
  for (const engine::Leaf& leaf : engine::leaves_of(engine::kType<engine::RunRequest>)) {
    // A path of one word, "step", is a word of sentences as well.
    if (leaf.path.find('.') == std::string::npos) continue;
    if (message.find(leaf.path) == std::string::npos) continue;
    const std::string label = setting_label(leaf.path);
    replace_words(message, "request." + leaf.path, label);  // as a comparison has it
    replace_words(message, leaf.path, label);
  }
  return message;
}

}  // namespace app

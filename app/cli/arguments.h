// Checks of the command line's words and numbers: errors name the value, the limits and what was
// probably meant.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/error.h"
#include "engine/model/fields.h"

namespace app::cli {

/// Of a command line that means nothing, whose message is the whole sentence.
engine::Error invalid_argument(std::string message);

/// Limits are inclusive.
CLI::Validator at_least(double low);
CLI::Validator between(double low, double high);
/// A regular file, so that a FIFO is refused here and not waited for; an existing folder.
CLI::Validator existing_file();
CLI::Validator existing_folder();
/// For transform(): the word as it stands in the list. '-', '_', ' ' and letter case may differ.
CLI::Validator one_of(std::vector<std::string> words);
/// The same for the names of an enumeration, as engine::parse() reads them.
CLI::Validator enumerator(const engine::Type& type);

/// The enumerators by their names: "fp8-block".
template <engine::Named E>
std::map<std::string, E> names_of() {
  std::map<std::string, E> names;
  for (const engine::EnumName& entry : engine::kType<E>.names) {
    names.emplace(entry.name, static_cast<E>(entry.value));
  }
  return names;
}
/// In the order of the enumeration.
template <engine::Named E>
std::vector<std::string> words_of() {
  std::vector<std::string> words;
  for (const engine::EnumName& entry : engine::kType<E>.names) words.emplace_back(entry.name);
  return words;
}

/// An option whose words are the enumerators' names, all of which the help lists.
template <engine::Named E>
void add_choice(CLI::App& command, const char* name, E& value, const std::string& description) {
  std::string listed;
  for (const std::string& word : words_of<E>()) listed += (listed.empty() ? "" : ", ") + word;
  command
      .add_option_function<std::string>(
          name, [&value](const std::string& word) { value = names_of<E>().at(word); },
          description + ": " + listed + " (default: " + std::string(engine::name_of(value)) + ")")
      ->option_text("NAME")
      ->transform(enumerator(engine::kType<E>));
}

}  // namespace app::cli

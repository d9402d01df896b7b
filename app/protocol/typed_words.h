// The words of a command that was typed into one line, as a shell would take them apart: blanks
// separate words, quotes and backslashes keep characters. No shell reads them, so what only a shell
// could do is refused.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/model/error.h"

namespace app {

/// InvalidArgument where a quote is not closed, a backslash has nothing behind it, or something
/// outside of quotes would need a shell ("a | b", "$HOME", "*"): better refused than passed on as
/// it is.
engine::Result<std::vector<std::string>> words_of(std::string_view typed);

/// A line that words_of() takes apart into exactly these.
std::string typed_words(const std::vector<std::string>& words);

/// The words for people to check, each in double quotes: ["srun", "--gres=gpu:1"].
std::string shown_words(const std::vector<std::string>& words);

}  // namespace app

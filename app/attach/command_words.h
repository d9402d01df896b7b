// A command line as people type it, split into the words of an argument vector. Quotes and
// backslashes mean what they mean to a shell; no shell runs, so whatever only a shell could do is
// refused instead of being passed on as a word.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/model/error.h"

namespace app {

/// At least one word. Settings of variables before the program ("CUDA_VISIBLE_DEVICES=0 python")
/// become words of env(1).
engine::Result<std::vector<std::string>> command_words(std::string_view text);

}  // namespace app

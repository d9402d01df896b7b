// A command line as people type it, as the words of an argument vector.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/model/error.h"

namespace app {

/// As app/protocol/typed_words.h splits it; at least one word. Settings of variables before the
/// program ("CUDA_VISIBLE_DEVICES=0 python") become words of env(1).
engine::Result<std::vector<std::string>> command_words(std::string_view text);

}  // namespace app

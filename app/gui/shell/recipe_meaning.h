// Which settings mean nothing to a recipe, each with the sentence that says so: the rail and the
// palette grey out alike.
#pragma once

#include <string_view>

#include "engine/model/run_request.h"

namespace app::recipe_meaning {

/// Why a setting means nothing to the recipe; null = it does.
const char* no_quantization(const engine::Recipe& recipe);
const char* no_format(const engine::Recipe& recipe);
const char* no_epsilon(const engine::Recipe& recipe);
const char* no_pow2(const engine::Recipe& recipe);
const char* no_split_accumulator(const engine::Recipe& recipe);
const char* no_history(const engine::Recipe& recipe);
const char* no_weight_blocks(const engine::Recipe& recipe);
const char* no_square_blocks(const engine::Recipe& recipe);
const char* not_nvfp4(const engine::Recipe& recipe);

/// The same by the control's id, "recipe.pow2" or "engine.setup_arrays.1", over the whole request.
const char* meaningless(std::string_view control, const engine::RunRequest& request);

}  // namespace app::recipe_meaning

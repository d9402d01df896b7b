// How well a few typed letters name a text: each letter in order, not necessarily together, case
// ignored.
#pragma once

#include <optional>
#include <string_view>

namespace app {

/// Larger = better: letters that begin words or follow each other count more, long texts less.
/// Spaces in `typed` are skipped; an empty one fits everything with 0. nullopt = does not fit.
std::optional<int> subsequence_score(std::string_view typed, std::string_view text);

}  // namespace app

// How typed letters find an entry of the command palette: as words, else letter by letter.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/gui/shell/palette_entries.h"

namespace app {

/// Score of how well the typed letters match a text: in order, each after the first beginning a
/// word or following the one before it, ignoring case and spaces. Larger is better: letters that
/// begin words or follow each other count more, long texts less; an empty input matches everything
/// with 0. nullopt = no match.
std::optional<int> subsequence_score(std::string_view typed, std::string_view text);

/// As subsequence_score(), for a text that begins one of these words; one letter is not enough.
std::optional<int> other_word_score(std::string_view typed, std::string_view words);

/// Indices of the entries that match `typed`, best first: those whose names, or parts of names,
/// begin with it, then those that have it as whole words, then as beginnings of words, in their
/// names before elsewhere; only where there are none, as letters. In the given order when nothing
/// is typed. Entries that are not possible now come last.
std::vector<std::size_t> palette_matches(const std::vector<PaletteEntry>& entries,
                                         const std::string& typed);

}  // namespace app

// A text where there may be too little room for it: on as many lines as there are, then without its
// last parts; and what the tooltip of a text says that is cut. Parts are separated by " · ", the
// most important first.
#pragma once

#include <imgui.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace app {

struct FittedLines {
  std::vector<std::string> lines{};
  bool whole = true;  // else something is left out, for which the lines have "..."

  /// One under the other: what is on screen.
  std::string text() const;
};

/// Broken at spaces into at most `most_lines` lines of this width. A word that is wider than a line
/// loses its middle.
FittedLines fitted_lines(const ImFont* font, std::string_view text, float width,
                         std::size_t most_lines);

/// What the tooltip of a text says that is shown cut: first the whole text, then `more`, which is
/// all that there is to say of a text that is shown whole.
std::string with_whole(std::string_view shown, std::string_view whole, std::string_view more = {});

}  // namespace app

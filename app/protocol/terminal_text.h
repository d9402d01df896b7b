// Text of a stranger (a worker, a file) for a terminal: nothing in it is obeyed.
#pragma once

#include <string>
#include <string_view>

namespace app {

/// The same text with control characters, marks that turn the direction of writing, and line
/// separators as "\u001b", and bytes that are no UTF-8 as "\x9b". Line feeds and tabs stay. JSON
/// stays the same JSON: there the first spelling means the same character.
std::string terminal_text(std::string_view text);

}  // namespace app

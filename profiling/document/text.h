// A document for a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "profiling/document/document.h"

namespace profiling {

struct TextLayout {
  std::size_t width = 0;       // columns, at which text is wrapped; 0 = not at all
  std::size_t columns = 0;     // of the terminal: a wider table leaves out its optional columns
  std::size_t most_rows = 32;  // of a table: a screenful
  std::string_view rest = {};  // where to see the rows that are left out: "--json prints all"
};

/// Facts as aligned lines, tables with aligned columns, text wrapped; no charts, and nothing that
/// is folded. A blank line separates what is not a fact.
std::string text_of(const Document& document, const TextLayout& layout = {});
/// One table, which begins with its headings.
std::string text_of(const Table& table, const TextLayout& layout = {});

/// Columns that a text takes: characters, not bytes.
std::size_t columns_of(std::string_view text);

/// Lines of at most `width` columns, indent included; line breaks of the text are kept.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width);

}  // namespace profiling

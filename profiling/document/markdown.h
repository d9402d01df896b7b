// A document as Markdown, for reports in issues and reviews.
#pragma once

#include <string>

#include "profiling/document/document.h"

namespace profiling {

/// Charts are left out. Facts are a table without headings, code is fenced; the text of a cell is
/// one line without column separators.
std::string markdown_of(const Document& document, std::size_t most_rows = 32);

}  // namespace profiling

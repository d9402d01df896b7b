#include "app/cli/help_formatter.h"

#include <algorithm>
#include <string_view>

namespace app::cli {
namespace {

/// A longer word, such as a list of names without spaces, has a line of its own.
std::string wrapped(std::string_view line, std::size_t columns) {
  std::string text;
  std::size_t column = 0;
  while (!line.empty()) {
    const std::string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(word.size() + 1, line.size()));
    if (column > 0) {
      const bool fits = column + 1 + word.size() <= columns;
      text += fits ? ' ' : '\n';
      column = fits ? column + 1 : 0;
    }
    text += word;
    column += word.size();
  }
  return text;
}

}  // namespace

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  const std::string whole = CLI::Formatter::make_option_desc(option);
  std::string text;
  for (std::string_view rest = whole; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    if (!text.empty()) text += '\n';
    text += wrapped(line, kMeaningColumns);
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  }
  return text;
}

}  // namespace app::cli

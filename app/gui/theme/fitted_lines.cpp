#include "app/gui/theme/fitted_lines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>
#include <utility>

#include "app/gui/theme/text.h"
#include "engine/model/text.h"

namespace app {
namespace {

constexpr std::string_view kSeparator = " \u00b7 ";
constexpr std::string_view kLeftOut = "...";

std::vector<std::string> split_at(std::string_view text, std::string_view separator) {
  std::vector<std::string> parts;
  for (std::size_t end = text.find(separator); end != text.npos; end = text.find(separator)) {
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end + separator.size());
  }
  parts.emplace_back(text);
  return parts;
}

/// The same words, those cut that are wider than a line.
std::string with_narrow_words(const ImFont* font, const std::string& text, float width) {
  std::vector<std::string> words = split_at(text, " ");
  for (std::string& word : words) word = fitted_middle(font, word, width);
  return fmt::format("{}", fmt::join(words, " "));
}

/// A line ends with a word: neither with spaces nor with a separator of parts.
std::string_view line_end_trimmed(std::string_view line) {
  const std::string_view bare_separator = kSeparator.substr(1, kSeparator.size() - 2);
  while (line.ends_with(' ')) line.remove_suffix(1);
  if (line.ends_with(bare_separator)) line.remove_suffix(bare_separator.size());
  while (line.ends_with(' ')) line.remove_suffix(1);
  return line;
}

/// As many lines as it takes; a line that begins with a separator begins after it.
std::vector<std::string> lines_of(const ImFont* font, const std::string& text, float width) {
  const std::string_view front = kSeparator.substr(1);
  std::vector<std::string> lines = split_at(broken_at_spaces(font, text, width), "\n");
  for (std::string& line : lines) {
    if (line.starts_with(front)) line.erase(0, front.size());
    line.resize(line_end_trimmed(line).size());
  }
  return lines;
}

/// What fits of a part for which even all lines are too few.
std::vector<std::string> begin_of(const ImFont* font, const std::string& part, float width,
                                  std::size_t most_lines) {
  const std::vector<std::string> all = lines_of(font, part, width);
  std::vector<std::string> lines(all.begin(),
                                 all.begin() + static_cast<std::ptrdiff_t>(most_lines));
  const std::span<const std::string> rest = std::span(all).subspan(most_lines - 1);
  lines.back() = fitted_words(font, fmt::format("{} {}", fmt::join(rest, " "), kLeftOut), width);
  return lines;
}

}  // namespace

std::string FittedLines::text() const { return fmt::format("{}", fmt::join(lines, "\n")); }

FittedLines fitted_lines(const ImFont* font, std::string_view outside, float width,
                         std::size_t most_lines) {
  const std::string text = engine::shown_text(outside);
  if (shown_size(font, text).x <= width) return {.lines = {text}};
  const std::vector<std::string> parts = split_at(text, kSeparator);
  for (std::size_t count = parts.size(); count > 0; --count) {
    const std::string kept =
        fmt::format("{}", fmt::join(std::span(parts).first(count), kSeparator));
    std::string drawn = with_narrow_words(font, kept, width);
    const bool whole = count == parts.size() && drawn == kept;
    // Once is enough to say that something is missing.
    if (count < parts.size() && drawn == kept) drawn += fmt::format(" {}", kLeftOut);
    std::vector<std::string> lines = lines_of(font, drawn, width);
    if (lines.size() <= most_lines) return {.lines = std::move(lines), .whole = whole};
  }
  const std::string first = with_narrow_words(font, parts.front(), width);
  return {.lines = begin_of(font, first, width, most_lines), .whole = false};
}

std::string with_whole(std::string_view shown, std::string_view whole, std::string_view more) {
  if (shown == whole) return std::string(more);
  return fmt::format("{}{}{}", whole, whole.empty() || more.empty() ? "" : "\n", more);
}

}  // namespace app

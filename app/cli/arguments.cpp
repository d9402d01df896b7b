#include "app/cli/arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace app::cli {
namespace {

/// Levenshtein's: insertions, deletions and replacements.
std::size_t typing_errors(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  return row.back();
}

}  // namespace

CLI::Validator between(double low, double high) {
  const auto flaw = [low, high](std::string& text) -> std::string {
    double value = 0;
    if (!CLI::detail::lexical_cast(text, value) || std::isnan(value)) {
      return fmt::format("'{}' is not a number", text);
    }
    if (value >= low && value <= high) return {};
    return std::isinf(high) ? fmt::format("{} is too small; it must be at least {}", text, low)
                            : fmt::format("{} must be between {} and {}", text, low, high);
  };
  return {flaw, ""};
}

CLI::Validator at_least(double low) {
  return between(low, std::numeric_limits<double>::infinity());
}

CLI::Validator one_of(std::vector<std::string> words) {
  const auto flaw = [words = std::move(words)](std::string& text) -> std::string {
    if (std::ranges::find(words, text) != words.end()) return {};
    return fmt::format("'{}' is not one of {}{}", text, fmt::join(words, ", "),
                       suggestion(text, words));
  };
  return {flaw, ""};
}

std::string suggestion(std::string_view text, const std::vector<std::string>& words) {
  constexpr std::size_t kMaxLength = 64;
  if (words.empty() || text.size() > kMaxLength) return {};
  const auto errors = [text](const std::string& word) { return typing_errors(text, word); };
  const auto nearest = std::ranges::min_element(words, {}, errors);
  // Two letters of three would match anything.
  const std::size_t most = std::min<std::size_t>(2, nearest->size() / 2);
  if (errors(*nearest) > most) return {};
  return fmt::format(" (did you mean '{}'?)", *nearest);
}

}  // namespace app::cli

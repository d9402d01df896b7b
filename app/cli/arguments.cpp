#include "app/cli/arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/model/text.h"

namespace app::cli {
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
                       engine::suggestion(text, words));
  };
  return {flaw, ""};
}

}  // namespace app::cli

#include "app/cli/arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "engine/input/regular_file.h"
#include "engine/model/path_text.h"
#include "engine/model/text.h"
#include "engine/model/values.h"

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

engine::Error invalid_argument(std::string message) {
  return {engine::ErrorCode::InvalidArgument, std::move(message)};
}

CLI::Validator at_least(double low) {
  return between(low, std::numeric_limits<double>::infinity());
}

CLI::Validator existing_file() {
  const auto flaw = [](std::string& path) -> std::string {
    const engine::Status status = engine::check_regular_file(path);
    return status.ok() ? std::string() : status.error().message;
  };
  return {flaw, ""};
}

CLI::Validator existing_folder() {
  const auto flaw = [](std::string& path) -> std::string {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) return {};
    if (error && error != std::errc::no_such_file_or_directory) {
      return fmt::format("{} cannot be opened: {}", engine::shown_path(path),
                         engine::path_error_text(path, error.value()));
    }
    return fmt::format("{} is not an existing folder; create it or name another", path);
  };
  return {flaw, ""};
}

CLI::Validator one_of(std::vector<std::string> words) {
  const auto flaw = [words = std::move(words)](std::string& text) -> std::string {
    const auto found = std::ranges::find(words, engine::plain_word(text), engine::plain_word);
    if (found == words.end()) {
      return fmt::format("'{}' is not one of {}{}", text, fmt::join(words, ", "),
                         engine::suggestion(text, words));
    }
    text = *found;
    return {};
  };
  return {flaw, ""};
}

CLI::Validator enumerator(const engine::Type& type) {
  const auto flaw = [&type](std::string& text) -> std::string {
    std::int64_t value = 0;  // of any enumeration
    if (!engine::parse(type, &value, text)) {
      return fmt::format("'{}' is not one of {}{}", text, engine::expected_text(type, {}),
                         engine::nearest_name(type, text));
    }
    text = engine::text_of(type, &value);
    return {};
  };
  return {flaw, ""};
}

}  // namespace app::cli

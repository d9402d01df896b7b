#include "engine/input/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

namespace engine {
namespace {

constexpr std::size_t kQuotedBytes = 80;  // of a text that is too long

Error refuse(std::string message) { return {ErrorCode::InvalidArgument, std::move(message)}; }

/// From a quote to the closing one, or to the end of the text.
std::size_t string_end(std::string_view text, std::size_t quote) {
  std::size_t at = quote + 1;
  while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
  return std::min(at, text.size());
}

/// An escape counts as one byte, so that a text is as long as the value that it gives, or shorter.
std::size_t text_bytes(std::string_view quoted) {
  std::size_t bytes = 0;
  for (std::size_t at = 0; at < quoted.size(); ++bytes) {
    const bool escape = quoted[at] == '\\' && at + 1 < quoted.size();
    at += !escape ? 1 : quoted[at + 1] == 'u' ? 6 : 2;
  }
  return bytes;
}

bool is_name(std::string_view text, std::size_t behind) {
  const std::size_t next = text.find_first_not_of(" \t\r\n", behind);
  return next != std::string_view::npos && text[next] == ':';
}

std::int64_t line_of(std::string_view text, std::size_t at) {
  return 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
}

Error no_number(const char* key, const nlohmann::json* found, const std::string& wanted) {
  const std::string value =
      found == nullptr
          ? "missing"
          : shown_text(found->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), 60);
  return refuse(fmt::format("'{}' is {}; it must be {}", key, value, wanted));
}

const nlohmann::json* member(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

}  // namespace

Status check_json(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return refuse(
        fmt::format("JSON of {} bytes; at most {} are read", text.size(), limits.max_bytes));
  }
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '{' || c == '[') {
      if (++depth > limits.max_depth) {
        return refuse(fmt::format("JSON nested deeper than {} levels (line {}, byte {})",
                                  limits.max_depth, line_of(text, at), at));
      }
    } else if (c == '}' || c == ']') {
      --depth;
    } else if (c == '"') {
      const std::size_t end = string_end(text, at);
      std::size_t bytes = end - at - 1;
      const std::size_t least = std::min(limits.max_name_bytes, limits.max_text_bytes);
      if (bytes > least) bytes = text_bytes(text.substr(at + 1, bytes));
      if (bytes > least) {
        const bool name = is_name(text, end + 1);
        const std::size_t limit = name ? limits.max_name_bytes : limits.max_text_bytes;
        if (bytes > limit) {
          // What is no text is not quoted: it is hardly JSON, and says nothing to anybody.
          const std::string_view found = text.substr(at + 1, end - at - 1);
          const std::string quoted = is_shown_text(found, found.size())
                                         ? fmt::format(": '{}'", shown_text(found, kQuotedBytes))
                                         : ", which is not readable text";
          return refuse(
              fmt::format("JSON with a {} of {} bytes (line {}, byte {}){}; the limit is "
                          "{}",
                          name ? "name" : "text", bytes, line_of(text, at), at, quoted, limit));
        }
      }
      at = end;
    }
  }
  return {};
}

template <class Json>
Result<Json> parse_json(std::string_view text, const JsonLimits& limits) {
  ENGINE_TRY(check_json(text, limits));
  std::vector<std::set<std::string>> names;  // of the objects that are open
  std::string twice;
  const auto cut = [&](int, typename Json::parse_event_t event, Json& value) {
    if (limits.unique_names) {
      if (event == Json::parse_event_t::object_start) names.emplace_back();
      if (event == Json::parse_event_t::object_end) names.pop_back();
      if (event == Json::parse_event_t::key && twice.empty()) {
        const auto& name = value.template get_ref<const std::string&>();
        if (!names.back().insert(name).second) twice = name;
      }
    }
    if (event == Json::parse_event_t::value && value.is_string()) {
      auto& words = value.template get_ref<std::string&>();
      if (words.size() > kMaxTextBytes) words = cut_text(std::move(words));
    }
    return true;
  };
  try {
    Json document = Json::parse(text.begin(), text.end(), cut);
    if (twice.empty()) return document;
    return refuse(fmt::format("JSON that names '{}' twice", shown_text(twice, kQuotedBytes)));
  } catch (const typename Json::parse_error& error) {
    const std::size_t at = std::min(error.byte, text.size());
    return refuse(fmt::format("not JSON: line {}, byte {}", line_of(text, at), at));
  } catch (const typename Json::exception& error) {
    return refuse(fmt::format("JSON that cannot be kept: {}", shown_text(error.what(), 200)));
  }
}

Result<std::int64_t> whole_number(const nlohmann::json& object, const char* key, std::int64_t low,
                                  std::int64_t high, std::optional<std::int64_t> absent) {
  const nlohmann::json* const found = member(object, key);
  if (found == nullptr && absent) return *absent;
  const auto wanted = [&] { return fmt::format("a whole number from {} to {}", low, high); };
  if (found == nullptr || !found->is_number_integer()) return no_number(key, found, wanted());
  // Only unsigned numbers beyond the signed range are kept as unsigned.
  if (found->is_number_unsigned() && !std::in_range<std::int64_t>(found->get<std::uint64_t>())) {
    return no_number(key, found, wanted());
  }
  const auto value = found->get<std::int64_t>();
  if (value < low || value > high) return no_number(key, found, wanted());
  return value;
}

Result<double> real_number(const nlohmann::json& object, const char* key, double low, double high,
                           std::optional<double> absent) {
  const nlohmann::json* const found = member(object, key);
  if (found == nullptr && absent) return *absent;
  const bool number = found != nullptr && found->is_number();
  const double value = number ? found->get<double>() : 0;
  if (!number || value < low || value > high) {
    return no_number(key, found, fmt::format("a number from {} to {}", low, high));
  }
  return value;
}

template <class Json>
Json written_json(std::string_view text) {
  Result<Json> document = parse_json<Json>(text, {.max_bytes = SIZE_MAX});
  return document.ok() ? std::move(document).value() : Json();
}

template nlohmann::json written_json(std::string_view);
template nlohmann::ordered_json written_json(std::string_view);
template Result<nlohmann::json> parse_json(std::string_view, const JsonLimits&);
template Result<nlohmann::ordered_json> parse_json(std::string_view, const JsonLimits&);

}  // namespace engine

// The only entry point for JSON, whatever its source. The recursion of a parser, a copy or a dump
// is bounded before anything is built: nlohmann's parser takes any depth, its dump() does not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "engine/model/error.h"
#include "engine/model/text.h"

namespace engine {

struct JsonLimits {
  std::size_t max_bytes = std::size_t{16} << 20;
  int max_depth = 64;                          // of nested lists and objects
  std::size_t max_name_bytes = kMaxTextBytes;  // of a member
  std::size_t max_text_bytes = SIZE_MAX;       // of a value; parse_json() cuts at kMaxTextBytes
  bool unique_names = false;                   // parse_json() refuses a name given twice
};

/// Checks the limits only; the parser checks whether it is JSON. The error names the limit, the
/// position and what was found.
Status check_json(std::string_view text, const JsonLimits& limits = {});

/// One document. Values that are texts are cut at kMaxTextBytes, with "…". Of several members with
/// one name the last one is used, unless names have to be unique. Json is nlohmann::json or
/// nlohmann::ordered_json.
template <class Json = nlohmann::json>
Result<Json> parse_json(std::string_view text, const JsonLimits& limits = {});

/// The number that an object has as `key`, or `absent` if it has none. A non-number, a fraction
/// where an integer is required, or a value outside low to high is an error that names key, value
/// and limits. nlohmann's get<int>() truncates and overflows silently.
Result<std::int64_t> whole_number(const nlohmann::json& object, const char* key, std::int64_t low,
                                  std::int64_t high, std::optional<std::int64_t> absent = {});
Result<double> real_number(const nlohmann::json& object, const char* key, double low, double high,
                           std::optional<double> absent = {});

/// For JSON written by this program, of any size. Null for an empty text.
template <class Json = nlohmann::ordered_json>
Json written_json(std::string_view text);

extern template nlohmann::json written_json(std::string_view);
extern template nlohmann::ordered_json written_json(std::string_view);
extern template Result<nlohmann::json> parse_json(std::string_view, const JsonLimits&);
extern template Result<nlohmann::ordered_json> parse_json(std::string_view, const JsonLimits&);

}  // namespace engine

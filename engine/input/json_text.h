// The one way in for JSON, whoever wrote it. What a parser, a copy or a dump does by recursion is
// bounded before anything is built: nlohmann's parser takes any depth, its dump() does not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "engine/model/error.h"
#include "engine/model/text.h"

namespace engine {

struct JsonLimits {
  std::size_t max_bytes = std::size_t{16} << 20;
  int max_depth = 64;                          // of lists and objects in each other
  std::size_t max_name_bytes = kMaxTextBytes;  // of a member
  std::size_t max_text_bytes = SIZE_MAX;       // of a value; parse_json() cuts at kMaxTextBytes
};

/// Whether the text keeps the limits; whether it is JSON at all is the parser's to say. The error
/// names limit, place and what was found.
Status check_json(std::string_view text, const JsonLimits& limits = {});

/// One document. Values that are texts are cut at kMaxTextBytes, with "…". Of members of one name
/// the last counts. Json is nlohmann::json or nlohmann::ordered_json.
template <class Json = nlohmann::json>
Result<Json> parse_json(std::string_view text, const JsonLimits& limits = {});

/// What this program wrote itself a moment ago, of any size. Null where it wrote nothing.
template <class Json = nlohmann::ordered_json>
Json written_json(std::string_view text);

extern template nlohmann::json written_json(std::string_view);
extern template nlohmann::ordered_json written_json(std::string_view);
extern template Result<nlohmann::json> parse_json(std::string_view, const JsonLimits&);
extern template Result<nlohmann::ordered_json> parse_json(std::string_view, const JsonLimits&);

}  // namespace engine

// A field of the request that takes several values in a sweep: shape.rows of 256, 1024 and 4096.
// Which fields are numbers, and their limits, is what the request's own fields() say. The window
// lists numbers only, since it has choices for the rest.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/model/error.h"
#include "engine/model/run_request.h"

namespace app {

struct NumberAxis {
  std::string field;                // path in the request
  std::vector<std::string> values;  // as numbers are printed; at least one

  bool operator==(const NumberAxis&) const = default;
};

/// Whether the request has such a field, and it holds one number.
bool is_number_field(std::string_view field);
/// Or one of a few words: a choice, or true and false. A text may contain a comma itself.
bool is_listed_field(std::string_view field);
/// Reads "256, 1024, 4096" of a field that can be listed. Every value is within the field's own
/// limits; whether it fits the rest of a request is for the plan to say. Errors begin with `name`,
/// by which the reader knows the field.
engine::Result<NumberAxis> read_axis(std::string_view field, std::string_view text,
                                     std::string_view name);
/// The last word of its path, or what people call it: "rows", "experts".
std::string short_name(std::string_view field);

}  // namespace app

// What the name of a tensor, or of a list in a JSON object, says about routing. One table, for the
// reader of a file and for whoever has to know whether it is a recording at all.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "engine/model/run_request.h"

namespace engine {

/// What the numbers under this name are; Detect = the name does not say.
RoutingNumbers numbers_by_name(std::string_view name);

/// Likewise, by the name of a file whose table has none. Fewer words count there: "layer_3.npy" may
/// hold anything.
RoutingNumbers numbers_by_file_name(std::string_view path);

/// The one of several lists that its name says is meant, as an index: a program's own name for the
/// routing it records. None if no name says so, or if two lists have that name.
std::optional<std::size_t> meant_by_name(std::span<const std::string_view> names);

}  // namespace engine

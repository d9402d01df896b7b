// What the name of a tensor, or of a list in a JSON object, says about routing. One table, for the
// reader of a file and for code that must know whether the file is a routing file at all.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "engine/model/run_request.h"

namespace engine {

/// What the numbers under this name are; Detect = the name does not say.
RoutingNumbers numbers_by_name(std::string_view name);

/// The same by the name of a file whose table has no name. Fewer words count there, because
/// "layer_3.npy" may hold anything.
RoutingNumbers numbers_by_file_name(std::string_view path);

/// Index of the list whose name is one that a program uses for the routing it records. Empty if no
/// list has such a name, or if two lists have the same one.
std::optional<std::size_t> meant_by_name(std::span<const std::string_view> names);

}  // namespace engine

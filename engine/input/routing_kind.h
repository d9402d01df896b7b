// Which list of a routing file is meant, and whether it holds rows per expert or experts of tokens,
// and in which order: by its name, its type, its dimensions and its values.
#pragma once

#include "engine/input/routing_layers.h"
#include "engine/input/routing_numbers.h"
#include "engine/model/error.h"
#include "engine/model/run_request.h"

namespace engine {

/// The list that `spec` names, read as it says. The error names the file.
Result<RoutedNumbers> meant_numbers(const RoutingSpec& spec, const RoutingFile& file);

}  // namespace engine

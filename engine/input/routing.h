// Routing: how many rows of X every expert gets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/error.h"
#include "engine/model/run_request.h"

namespace engine {

/// Splits of `request`, [num_experts], each >= 0, summing to exactly request.shape.tokens.
/// Deterministic in (routing, shape, seed). A file whose length or sum does not fit is refused with
/// both numbers.
Result<GroupedShape> resolve_shape(const RunRequest& request);

}  // namespace engine

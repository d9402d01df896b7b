// Routing: how many rows of X every expert gets, by a rule or from a file of splits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/error.h"
#include "engine/model/run_request.h"

namespace engine {

// Splits from a file: a JSON list of integers, or a one-dimensional .npy of int32 or int64.

/// The raw numbers; routing checks whether they fit a shape.
Result<std::vector<std::int64_t>> read_splits_file(const std::string& path);

/// Splits of `request`, [num_experts], each >= 0, summing to exactly request.shape.tokens.
/// Deterministic in (routing, shape, seed). A file whose length or sum does not fit is refused with
/// both numbers.
Result<GroupedShape> resolve_shape(const RunRequest& request);

}  // namespace engine

// Splits from a file: a JSON list of integers, or a one-dimensional .npy of int32 or int64.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/error.h"

namespace engine {

/// The raw numbers; routing checks whether they fit a shape.
Result<std::vector<std::int64_t>> read_splits_file(const std::string& path);

}  // namespace engine

// Splits from a file: a JSON list of integers, or a one-dimensional .npy of int32 or int64.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/error.h"

namespace engine {

/// The numbers as they stand; whether they suit a shape is routing's question.
Result<std::vector<std::int64_t>> read_splits_file(const std::string& path);

}  // namespace engine

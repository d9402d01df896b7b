// Arrays of float32 as zstd-compressed little-endian bytes. The reader knows how many it expects,
// and allocates only that.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "engine/model/error.h"

namespace profiling {

std::vector<std::byte> compress_floats(std::span<const float> values);
/// Fails, with a phrase that completes "the blob ...", unless exactly `count` floats are inside.
engine::Result<std::vector<float>> decompress_floats(std::span<const std::byte> blob,
                                                     std::size_t count);

}  // namespace profiling

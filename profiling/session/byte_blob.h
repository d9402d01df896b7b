// Bytes, zstd-compressed. The reader knows how many it expects, and allocates only that.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/model/error.h"

namespace profiling {

std::vector<std::byte> compress_bytes(std::span<const std::byte> bytes);
/// Fails, with a phrase that completes "the blob ...", unless exactly target.size() bytes are
/// inside.
engine::Status decompress_bytes(std::span<const std::byte> blob, std::span<std::byte> target);

}  // namespace profiling

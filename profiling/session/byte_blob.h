// Bytes, zstd-compressed.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/model/error.h"

namespace profiling {

/// Nothing for nothing.
std::vector<std::byte> compress_bytes(std::span<const std::byte> bytes);

// Both fail with a phrase that completes "the blob ...".

/// What the blob says of its content, before anything is allocated for it: a few bytes of zstd can
/// claim to hold terabytes.
engine::Result<std::size_t> content_bytes(std::span<const std::byte> blob);
/// Into a target of content_bytes().
engine::Status decompress_bytes(std::span<const std::byte> blob, std::span<std::byte> target);

}  // namespace profiling

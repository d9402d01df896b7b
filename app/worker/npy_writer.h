// Writes C-order arrays as .npy, format version 1.0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/model/error.h"

namespace app {

/// `dtype` as numpy writes it: "|u1", "<f4", "<i8". `bytes` holds the product of `shape` elements.
engine::Status write_npy(const std::string& path, const std::string& dtype,
                         const std::vector<std::int64_t>& shape, std::span<const std::byte> bytes);

}  // namespace app

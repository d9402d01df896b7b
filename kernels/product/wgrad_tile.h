// The tile of D that one thread block computes, and how many blocks share the operand they read.
#pragma once

#include <cstdint>

namespace kernels {

/// 192 x 128: three warpgroups of 64 rows each, so that the tensor cores have work of two while one
/// scales its sums. See kernels/README.md for what others cost.
inline constexpr std::int64_t kWgradTileRows = 192;
inline constexpr std::int64_t kWgradTileColumns = 128;
/// Two blocks work on neighbouring columns of the same rows, and each loads half of those for both.
inline constexpr std::int64_t kWgradCluster = 2;

}  // namespace kernels

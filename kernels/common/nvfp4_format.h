// The constants of NVFP4.
#pragma once

#include <cstdint>

namespace kernels {

inline constexpr std::int64_t kNvBlock = 16;  // adjacent elements that share a scale
inline constexpr float kE2m1Max = 6.0F;

/// Signs s of the random Hadamard transform: bit i set = s_i is -1. It maps 16 elements x to y_j =
/// sum_i x_i * s_i * (-1)^popcount(i & j) / 4, evaluated as a Walsh-Hadamard transform in FP32:
/// signs first, then stages of distance 1, 2, 4, 8 (a + b to the lower index, a - b to the upper),
/// then * 0.25, then rounded to BF16 whatever the input type. Blocks are 16 consecutive rows of one
/// column; missing rows count as 0.
inline constexpr std::uint16_t kHadamardSigns = 0xD7E8;

}  // namespace kernels

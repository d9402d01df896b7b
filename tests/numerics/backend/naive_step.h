// The step written from its definition: double precision, one element at a time, sharing only the
// operand values and the routing with the engine.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "engine/model/run_request.h"

namespace naive {

struct Matrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<float> values = {};
  float at(std::int64_t row, std::int64_t column) const {
    return values[static_cast<std::size_t>(row * columns + column)];
  }
  float& at(std::int64_t row, std::int64_t column) {
    return values[static_cast<std::size_t>(row * columns + column)];
  }
};

/// Nearest FP8 value, ties to even, saturating; by arithmetic on the value instead of its bits.
inline float round_to_fp8(float value, engine::Fp8Format format) {
  const bool e4m3 = format == engine::Fp8Format::E4m3;
  const double largest = e4m3 ? 448.0 : 57344.0;
  if (std::isnan(value)) return value;
  if (std::isinf(value)) return std::copysign(static_cast<float>(largest), value);
  const int mantissa_bits = e4m3 ? 3 : 2;
  const int lowest_exponent = e4m3 ? -6 : -14;
  const double magnitude = std::fabs(static_cast<double>(value));
  const int exponent =
      std::max(magnitude == 0.0 ? lowest_exponent : std::ilogb(magnitude), lowest_exponent);
  const double step = std::ldexp(1.0, exponent - mantissa_bits);
  const double rounded = std::min(std::nearbyint(magnitude / step) * step, largest);
  return std::copysign(static_cast<float>(rounded), value);
}

struct Dequantized {
  Matrix values;
  std::uint64_t saturated = 0;
  std::uint64_t underflowed = 0;
  double signal = 0.0;
  double noise = 0.0;
};

/// Quantizes and dequantizes one expert's operand; blocks of block_rows x block_columns, both the
/// operand's own size for per-tensor scaling.
struct BlockShape {
  std::int64_t rows = 1;
  std::int64_t columns = 128;
};

inline float block_scale(const Matrix& x, std::int64_t row, std::int64_t column, BlockShape block,
                         const engine::Recipe& recipe, double format_max, float inf_value) {
  float amax = 0.0F;
  for (std::int64_t r = row; r < std::min(row + block.rows, x.rows); ++r) {
    for (std::int64_t c = column; c < std::min(column + block.columns, x.columns); ++c) {
      if (!std::isnan(x.at(r, c))) amax = std::max(amax, std::fabs(x.at(r, c)));
    }
  }
  amax = std::max(amax, recipe.amax_epsilon);
  if (amax == 0.0F || std::isinf(amax)) return 1.0F;
  float scale = static_cast<float>(format_max) / amax;
  if (std::isinf(scale)) scale = inf_value;
  if (recipe.pow2_scales) scale = std::ldexp(1.0F, std::ilogb(scale));
  return scale;
}

inline Dequantized quantize(const Matrix& x, engine::Fp8Format format, BlockShape block,
                            const engine::Recipe& recipe, float inf_value) {
  Dequantized result{.values = x};
  const double format_max = format == engine::Fp8Format::E4m3 ? 448.0 : 57344.0;
  for (std::int64_t row = 0; row < x.rows; row += block.rows) {
    for (std::int64_t column = 0; column < x.columns; column += block.columns) {
      const float scale = block_scale(x, row, column, block, recipe, format_max, inf_value);
      const float scale_inv = 1.0F / scale;
      for (std::int64_t r = row; r < std::min(row + block.rows, x.rows); ++r) {
        for (std::int64_t c = column; c < std::min(column + block.columns, x.columns); ++c) {
          const float value = x.at(r, c);
          const float code = round_to_fp8(value * scale, format);
          const float back = code * scale_inv;
          result.values.at(r, c) = back;
          // The element that set a scale may land a rounding error above the maximum, uncut.
          const double scaled = std::fabs(static_cast<double>(value) * static_cast<double>(scale));
          if (scaled > format_max * (1.0 + 0x1p-22)) ++result.saturated;
          if (value != 0.0F && code == 0.0F) ++result.underflowed;
          if (!std::isfinite(value) || !std::isfinite(back)) continue;
          result.signal += static_cast<double>(value) * value;
          result.noise += std::pow(static_cast<double>(value) - back, 2);
        }
      }
    }
  }
  return result;
}

/// x [m, k] times w [n, k] transposed, in double.
inline std::vector<double> product(const Matrix& x, const Matrix& w) {
  std::vector<double> y;
  for (std::int64_t row = 0; row < x.rows; ++row) {
    for (std::int64_t column = 0; column < w.rows; ++column) {
      double sum = 0.0;
      for (std::int64_t k = 0; k < x.columns; ++k) {
        sum += static_cast<double>(x.at(row, k)) * static_cast<double>(w.at(column, k));
      }
      y.push_back(sum);
    }
  }
  return y;
}

}  // namespace naive

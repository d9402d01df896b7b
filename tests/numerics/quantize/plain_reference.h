// The definitions written out slowly: values decoded with ldexp, codes found by search among all
// 256, blocks walked element by element. Shares no code with the kernels it checks.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/numerics/quantize/grouped_cases.h"

namespace quantize_tests {

inline float decode_bits(std::uint32_t bits, const ElementFormat& format) {
  const bool negative = (bits & format.sign()) != 0;
  const std::uint32_t exponent =
      (bits >> format.mantissa_bits) & ((1U << format.exponent_bits) - 1U);
  const std::uint32_t mantissa = bits & format.mantissa_mask();
  const int bias = static_cast<int>(format.bias());
  double value = 0.0;
  if (exponent == (1U << format.exponent_bits) - 1U) {
    value = mantissa != 0 ? std::numeric_limits<double>::quiet_NaN()
                          : std::numeric_limits<double>::infinity();
  } else if (exponent == 0) {
    value = std::ldexp(mantissa, 1 - bias - format.mantissa_bits);
  } else {
    value = std::ldexp((1U << format.mantissa_bits) + mantissa,
                       static_cast<int>(exponent) - bias - format.mantissa_bits);
  }
  return static_cast<float>(negative ? -value : value);
}

inline float element(const kernels::GroupedInput& input, std::int64_t row, std::int64_t column) {
  const ElementFormat format = element_format(input.type);
  std::uint32_t bits = 0;
  std::memcpy(&bits,
              static_cast<const std::uint8_t*>(input.input) +
                  static_cast<std::size_t>(row * input.columns + column) * format.bytes(),
              format.bytes());
  return decode_bits(bits, format);
}

/// Finds the nearest finite code among all of them; a tie goes to the even code.
class CodeSearch {
 public:
  explicit CodeSearch(kernels::Fp8Format format) {
    const bool e4m3 = format == kernels::Fp8Format::E4m3;
    const ElementFormat layout = e4m3 ? ElementFormat{4, 3} : ElementFormat{5, 2};
    const unsigned last = e4m3 ? 0x7EU : 0x7BU;
    for (unsigned code = 0; code <= last; ++code) {
      // E4M3 has no infinity: its largest exponent holds ordinary values.
      values_.push_back(e4m3 && code >= 0x78U ? 256.0F + 32.0F * static_cast<float>(code - 0x78U)
                                              : decode_bits(code, layout));
    }
  }

  std::uint8_t nearest(float value) const {
    if (std::isnan(value)) return 0x7F;
    const double magnitude = std::fabs(static_cast<double>(value));
    const auto above = std::lower_bound(values_.begin(), values_.end(), magnitude);
    auto code = static_cast<unsigned>(above - values_.begin());
    if (above == values_.end()) {
      code = static_cast<unsigned>(values_.size()) - 1U;
    } else if (*above != magnitude) {
      const double up = *above - magnitude;
      const double down = magnitude - values_[code - 1U];
      if (down < up || (down == up && code % 2U == 1U)) --code;
    }
    return static_cast<std::uint8_t>(code | (std::signbit(value) ? 0x80U : 0U));
  }

 private:
  std::vector<double> values_;
};

struct ScaleDefinition {
  float format_max;
  kernels::ScaleOptions options;
  float largest_scale;
};

inline float defined_scale(float amax, const ScaleDefinition& definition) {
  amax = std::max(amax, definition.options.amax_epsilon);
  if (amax == 0.0F || std::isinf(amax)) return 1.0F;
  float scale = definition.format_max / amax;
  if (std::isinf(scale)) scale = definition.largest_scale;
  if (!definition.options.pow2) return scale;
  int exponent = 0;
  (void)std::frexp(scale, &exponent);
  return std::ldexp(1.0F, exponent - 1);
}

/// Outputs of any of the recipes, sentinels where nothing is to be written.
struct Expected {
  std::vector<std::uint8_t> codes;
  std::vector<float> scale_inv;
  std::vector<float> amax;
};

inline float float_sentinel() { return std::bit_cast<float>(kFloatSentinel); }

/// One rectangle of a group that shares a scale.
struct Rectangle {
  std::int64_t row, end_row, column, end_column;
  std::size_t scale_index;
};

inline void quantize_rectangle(const kernels::GroupedInput& input, const Rectangle& area,
                               const ScaleDefinition& definition, const CodeSearch& search,
                               Expected& expected) {
  float amax = 0.0F;
  for (std::int64_t row = area.row; row < area.end_row; ++row) {
    for (std::int64_t column = area.column; column < area.end_column; ++column) {
      const float magnitude = std::fabs(element(input, row, column));
      if (magnitude > amax) amax = magnitude;
    }
  }
  const float scale = defined_scale(amax, definition);
  expected.amax[area.scale_index] = amax;
  expected.scale_inv[area.scale_index] = 1.0F / scale;
  for (std::int64_t row = area.row; row < area.end_row; ++row) {
    for (std::int64_t column = area.column; column < area.end_column; ++column) {
      expected.codes[static_cast<std::size_t>(row * input.columns + column)] =
          search.nearest(element(input, row, column) * scale);
    }
  }
}

enum class Recipe { PerTensor, Block1x128, Block128x128 };

inline Expected defined_quantization(Recipe recipe, const kernels::GroupedInput& input,
                                     const Variant& variant, std::int64_t scales) {
  const bool e4m3 = variant.format == kernels::Fp8Format::E4m3;
  const float widest = recipe == Recipe::PerTensor || input.type == kernels::InputType::Fp32
                           ? std::numeric_limits<float>::max()
                       : input.type == kernels::InputType::Bf16 ? std::ldexp(255.0F, 120)
                                                                : 65504.0F;
  const ScaleDefinition definition{e4m3 ? 448.0F : 57344.0F, variant.options, widest};
  const CodeSearch search(variant.format);
  const auto elements = static_cast<std::size_t>(input.capacity_rows * input.columns);
  Expected expected{std::vector<std::uint8_t>(elements, kCodeSentinel),
                    std::vector<float>(static_cast<std::size_t>(scales), float_sentinel()),
                    std::vector<float>(static_cast<std::size_t>(scales), float_sentinel())};
  const std::int64_t bx_count = (input.columns + 127) / 128;
  std::int64_t group_scales = 0;  // where the group's scales start
  for (int group = 0; group < input.num_groups; ++group) {
    const std::int64_t begin = input.row_offsets[group];
    const std::int64_t end = input.row_offsets[group + 1];
    const std::int64_t padded = (end - begin + 3) / 4 * 4;
    const std::int64_t padded_bx = (bx_count + 3) / 4 * 4;
    if (recipe == Recipe::PerTensor) {
      quantize_rectangle(input, {begin, end, 0, input.columns, static_cast<std::size_t>(group)},
                         definition, search, expected);
      continue;
    }
    const std::int64_t height = recipe == Recipe::Block1x128 ? 1 : 128;
    for (std::int64_t row = begin; row < end; row += height) {
      for (std::int64_t bx = 0; bx < bx_count; ++bx) {
        const std::int64_t index = recipe == Recipe::Block1x128
                                       ? bx * padded + row - begin
                                       : (row - begin) / 128 * padded_bx + bx;
        quantize_rectangle(
            input,
            {row, std::min(end, row + height), bx * 128, std::min(input.columns, bx * 128 + 128),
             static_cast<std::size_t>(group_scales + index)},
            definition, search, expected);
      }
    }
    group_scales +=
        recipe == Recipe::Block1x128 ? bx_count * padded : (end - begin + 127) / 128 * padded_bx;
  }
  return expected;
}

}  // namespace quantize_tests

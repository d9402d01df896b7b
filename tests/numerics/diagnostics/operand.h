// A random grouped operand with its codes and scales, and plain loops over it in double precision:
// written from the definitions, sharing no code with what they check.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/diagnostics/statistics.h"

namespace tests {

struct Operand {
  kernels::InputType type = kernels::InputType::Bf16;
  kernels::Fp8Format format = kernels::Fp8Format::E4m3;
  kernels::ScaleLayout layout = kernels::ScaleLayout::PerTensor;
  std::int64_t columns = 0;
  std::int64_t capacity_rows = 0;
  std::vector<std::int64_t> row_offsets;
  std::vector<std::uint16_t> words;  // 16-bit types
  std::vector<float> floats;         // FP32
  std::vector<std::uint8_t> codes;
  std::vector<float> scale_inv;

  int num_groups() const { return static_cast<int>(row_offsets.size()) - 1; }
  const void* input() const {
    return type == kernels::InputType::Fp32 ? static_cast<const void*>(floats.data())
                                            : static_cast<const void*>(words.data());
  }
  std::size_t input_bytes() const { return floats.size() * 4 + words.size() * 2; }
};

inline double bf16_value(std::uint16_t bits) {
  const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float value = 0.0F;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

/// Value of a small IEEE-like pattern; `has_infinity` false = only all ones is NaN (E4M3).
inline double small_float_value(unsigned bits, int exponent_bits, int mantissa_bits,
                                bool has_infinity) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = static_cast<int>(bits) & ((1 << mantissa_bits) - 1);
  const double sign = (bits >> (exponent_bits + mantissa_bits)) != 0 ? -1.0 : 1.0;
  const bool top = exponent == (1 << exponent_bits) - 1;
  if (top && has_infinity) return mantissa == 0 ? sign * INFINITY : NAN;
  if (top && mantissa == (1 << mantissa_bits) - 1) return NAN;
  const double fraction = std::ldexp(mantissa, -mantissa_bits);
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias);
  return sign * std::ldexp(1.0 + fraction, exponent - bias);
}

inline double code_value(std::uint8_t code, kernels::Fp8Format format) {
  return format == kernels::Fp8Format::E4m3 ? small_float_value(code, 4, 3, false)
                                            : small_float_value(code, 5, 2, true);
}

inline double input_value(const Operand& operand, std::size_t element) {
  switch (operand.type) {
    case kernels::InputType::Bf16:
      return bf16_value(operand.words[element]);
    case kernels::InputType::Fp16:
      return small_float_value(operand.words[element], 5, 10, true);
    case kernels::InputType::Fp32:
      break;
  }
  return operand.floats[element];
}

/// Position of an element's scale, from the layout text in kernels/quantize/quantize_block.h.
inline std::size_t scale_position(const Operand& operand, int group, std::int64_t row,
                                  std::int64_t column) {
  const std::int64_t blocks_x = (operand.columns + 127) / 128;
  std::int64_t base = 0;
  for (int g = 0; g < group; ++g) {
    const std::int64_t m = operand.row_offsets[static_cast<std::size_t>(g) + 1] -
                           operand.row_offsets[static_cast<std::size_t>(g)];
    if (operand.layout == kernels::ScaleLayout::PerTensor) base += 1;
    if (operand.layout == kernels::ScaleLayout::BlockLine) base += blocks_x * ((m + 3) / 4 * 4);
    if (operand.layout == kernels::ScaleLayout::BlockSquare) {
      base += (m + 127) / 128 * ((blocks_x + 3) / 4 * 4);
    }
  }
  const std::int64_t rows = operand.row_offsets[static_cast<std::size_t>(group) + 1] -
                            operand.row_offsets[static_cast<std::size_t>(group)];
  if (operand.layout == kernels::ScaleLayout::BlockLine) {
    base += column / 128 * ((rows + 3) / 4 * 4) + row;
  }
  if (operand.layout == kernels::ScaleLayout::BlockSquare) {
    base += row / 128 * ((blocks_x + 3) / 4 * 4) + column / 128;
  }
  return static_cast<std::size_t>(base);
}

/// FP32 product rounded once, as the header of kernels/dequantize says.
inline float dequantized_value(const Operand& operand, int group, std::int64_t row,
                               std::int64_t column) {
  const std::size_t element = static_cast<std::size_t>(
      (operand.row_offsets[static_cast<std::size_t>(group)] + row) * operand.columns + column);
  const volatile float product =
      static_cast<float>(code_value(operand.codes[element], operand.format)) *
      operand.scale_inv[scale_position(operand, group, row, column)];
  return product;
}

/// Calls visit(group, row in group, column, element) for every element below the last offset.
template <class Visit>
void for_each_element(const Operand& operand, Visit visit) {
  for (int g = 0; g < operand.num_groups(); ++g) {
    const std::int64_t first = operand.row_offsets[static_cast<std::size_t>(g)];
    const std::int64_t rows = operand.row_offsets[static_cast<std::size_t>(g) + 1] - first;
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < operand.columns; ++column) {
        visit(g, row, column, static_cast<std::size_t>((first + row) * operand.columns + column));
      }
    }
  }
}

struct OperandSpec {
  kernels::InputType type = kernels::InputType::Bf16;
  kernels::Fp8Format format = kernels::Fp8Format::E4m3;
  kernels::ScaleLayout layout = kernels::ScaleLayout::PerTensor;
  std::vector<std::int64_t> splits;
  std::int64_t columns = 272;
  std::int64_t spare_rows = 5;  // rows past the last group: must stay unread
  unsigned seed = 1;
};

/// Any bit pattern may occur, so zeros, subnormals, infinities and NaNs do. Codes are drawn apart
/// from the input: the statistics must not assume that they fit. Spare rows hold NaN.
inline Operand make_operand(const OperandSpec& spec) {
  Operand operand{.type = spec.type,
                  .format = spec.format,
                  .layout = spec.layout,
                  .columns = spec.columns,
                  .row_offsets = {0},
                  .words = {},
                  .floats = {},
                  .codes = {},
                  .scale_inv = {}};
  for (const std::int64_t split : spec.splits) {
    operand.row_offsets.push_back(operand.row_offsets.back() + split);
  }
  operand.capacity_rows = operand.row_offsets.back() + spec.spare_rows;
  const auto elements = static_cast<std::size_t>(operand.capacity_rows * spec.columns);
  const auto used = static_cast<std::size_t>(operand.row_offsets.back() * spec.columns);
  std::mt19937 generator(spec.seed);
  const auto random = [&generator] { return static_cast<std::uint32_t>(generator()); };
  std::normal_distribution<float> normal;
  operand.codes.resize(elements);
  for (std::uint8_t& code : operand.codes) code = static_cast<std::uint8_t>(random() >> 24);
  const bool wide = spec.type == kernels::InputType::Fp32;
  (wide ? operand.floats.resize(elements) : operand.words.resize(elements));
  for (std::size_t i = 0; i < elements; ++i) {
    // Mostly ordinary numbers, a share of arbitrary patterns, a share of zeros,
    // infinities and NaNs.
    const unsigned kind = random() % 16;
    std::uint32_t bits = 0;
    const float ordinary = normal(generator);
    std::memcpy(&bits, &ordinary, sizeof bits);
    if (kind == 0) bits = random();
    if (kind == 1) bits = (random() & 1U) << 31;
    if (kind == 2 && random() % 8 == 0) {
      bits = 0x7F800000U | ((random() & 1U) << 31) | ((random() & 1U) << 22);
    }
    if (i >= used) bits = 0x7FC00000U;
    if (wide) {
      std::memcpy(&operand.floats[i], &bits, sizeof bits);
    } else if (spec.type == kernels::InputType::Bf16) {
      operand.words[i] = static_cast<std::uint16_t>(bits >> 16);
    } else {
      // Around 1 for ordinary numbers, otherwise any pattern.
      operand.words[i] = static_cast<std::uint16_t>(kind == 0   ? random()
                                                    : kind == 1 ? bits >> 16
                                                    : kind == 2 ? 0x7C00U + (random() & 1U)
                                                                : 0x3000U + (bits >> 19 & 0x0FFFU) +
                                                                      (bits >> 16 & 0x8000U));
      if (i >= used) operand.words[i] = 0x7E00U;
    }
  }
  std::size_t scales = 1;
  for (int g = 0; g < operand.num_groups(); ++g) {
    const std::int64_t rows = operand.row_offsets[static_cast<std::size_t>(g) + 1] -
                              operand.row_offsets[static_cast<std::size_t>(g)];
    if (rows > 0) {
      scales = std::max(scales, scale_position(operand, g, rows - 1, spec.columns - 1) + 1);
    }
  }
  scales = std::max(scales, static_cast<std::size_t>(operand.num_groups()));
  std::uniform_real_distribution<float> scale(0.001F, 0.02F);
  for (std::size_t s = 0; s < scales; ++s) operand.scale_inv.push_back(scale(generator));
  return operand;
}

inline kernels::QuantizationStatisticsArgs statistics_args(const Operand& operand) {
  return {.input = {.input = operand.input(),
                    .type = operand.type,
                    .row_offsets = operand.row_offsets.data(),
                    .num_groups = operand.num_groups(),
                    .capacity_rows = operand.capacity_rows,
                    .columns = operand.columns},
          .quantized = {.codes = operand.codes.data(),
                        .format = operand.format,
                        .layout = operand.layout,
                        .scales = operand.scale_inv.data(),
                        .row_offsets = operand.row_offsets.data(),
                        .num_groups = operand.num_groups(),
                        .capacity_rows = operand.capacity_rows,
                        .columns = operand.columns}};
}

}  // namespace tests

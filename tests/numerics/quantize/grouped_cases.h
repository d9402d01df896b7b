// Grouped operands that the CPU and the GPU tests of the quantization kernels share: shapes with
// empty, tiny and lopsided groups, and fills that reach every branch of the numerics.
#pragma once

#include <cstdint>
#include <cstring>
#include <numeric>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "kernels/common/types.h"

namespace quantize_tests {

struct GroupedCase {
  std::string name;
  std::vector<std::int64_t> splits;
  std::int64_t spare_rows = 0;  // capacity beyond the sum of the splits
  std::int64_t columns = 0;
};

/// GoogleTest's name of a parameter: without it, the bytes of the object.
inline void PrintTo(const GroupedCase& grouped, std::ostream* stream) { *stream << grouped.name; }

inline std::vector<std::int64_t> repeating_splits(int groups, int modulus) {
  std::vector<std::int64_t> splits(static_cast<std::size_t>(groups));
  for (int group = 0; group < groups; ++group) {
    splits[static_cast<std::size_t>(group)] = (group * 7) % modulus;
  }
  return splits;
}

inline std::vector<std::int64_t> one_busy_group(int groups, int busy, std::int64_t rows) {
  std::vector<std::int64_t> splits(static_cast<std::size_t>(groups), 0);
  splits[static_cast<std::size_t>(busy)] = rows;
  return splits;
}

inline std::vector<GroupedCase> grouped_cases() {
  return {
      {.name = "OneGroup", .splits = {128}, .columns = 144},
      {.name = "RaggedK2880", .splits = {100, 0, 27, 1, 0, 130}, .spare_rows = 70, .columns = 2880},
      {.name = "FirstGroupHasAll", .splits = {300, 0, 0}, .spare_rows = 300, .columns = 256},
      {.name = "LastGroupHasAll", .splits = {0, 0, 257}, .columns = 384},
      {.name = "AllGroupsEmpty", .splits = {0, 0, 0}, .spare_rows = 64, .columns = 144},
      {.name = "TwoGroupsK16", .splits = {129, 31}, .spare_rows = 2, .columns = 16},
      {.name = "EightGroupsOf32", .splits = {32, 32, 32, 32, 32, 32, 32, 32}, .columns = 640},
      {.name = "Groups63", .splits = repeating_splits(63, 40), .columns = 272},
      {.name = "Groups64", .splits = repeating_splits(64, 9), .spare_rows = 64, .columns = 128},
      {.name = "Groups65", .splits = repeating_splits(65, 5), .spare_rows = 9, .columns = 144},
      {.name = "Groups256OneBusy",
       .splits = one_busy_group(256, 137, 515),
       .spare_rows = 1,
       .columns = 16},
      {.name = "Groups1024", .splits = repeating_splits(1024, 3), .spare_rows = 5, .columns = 128},
      // A tile of few rows takes two or four blocks of 128 columns: as a gate's width, 384 and 640
      // end inside such a tile, beside which up's begin; 512 does not.
      {.name = "EveryHeightK384",
       .splits = {0, 1, 31, 32, 33, 63, 64, 65, 127, 128, 129, 200},
       .spare_rows = 40,
       .columns = 384},
      {.name = "LowTilesK640", .splits = {33, 0, 64, 1, 32}, .columns = 640},
      {.name = "LowTilesK512", .splits = {1, 64, 160}, .columns = 512},
  };
}

/// Mild: magnitudes around 1 and a NaN here and there. Wild: per block also zeros, subnormals,
/// huge values and arbitrary bit patterns, infinities included.
enum class Fill { Mild, Wild };

struct ElementFormat {
  int exponent_bits;
  int mantissa_bits;
  std::uint32_t sign() const { return 1U << (exponent_bits + mantissa_bits); }
  std::uint32_t infinity() const { return ((1U << exponent_bits) - 1U) << mantissa_bits; }
  std::uint32_t mantissa_mask() const { return (1U << mantissa_bits) - 1U; }
  std::uint32_t bias() const { return (1U << (exponent_bits - 1)) - 1U; }
  std::size_t bytes() const {
    return static_cast<std::size_t>(1 + exponent_bits + mantissa_bits) / 8;
  }
};

inline ElementFormat element_format(kernels::InputType type) {
  switch (type) {
    case kernels::InputType::Bf16:
      return {8, 7};
    case kernels::InputType::Fp16:
      return {5, 10};
    case kernels::InputType::Fp32:
      break;
  }
  return {8, 23};
}

/// Bits of one element; `kind` is what its block is made of.
inline std::uint32_t element_bits(const ElementFormat& format, unsigned kind,
                                  std::uint32_t random) {
  const std::uint32_t sign = (random >> 31) != 0 ? format.sign() : 0U;
  const std::uint32_t mantissa = random & format.mantissa_mask();
  switch (kind) {
    case 0:
      return sign;
    case 1:  // subnormal
      return sign | mantissa;
    case 2:  // the largest exponents, still finite
      return sign | (format.infinity() - (((random >> 23) % 3U + 1U) << format.mantissa_bits)) |
             mantissa;
    case 3:  // anything
      return random & (format.sign() | (format.sign() - 1U));
    default:
      if ((random >> 23) % 97U == 0) return sign | format.infinity() | 1U;  // NaN
      return sign | ((format.bias() + 3U - (random >> 24) % 10U) << format.mantissa_bits) |
             mantissa;
  }
}

/// A case filled for one input type. The spare rows hold the largest finite value, so that reading
/// one of them would show in every amax.
struct Operand {
  std::vector<std::uint8_t> bytes;
  std::vector<std::int64_t> row_offsets;
  kernels::GroupedInput input;  // points into this object

  /// `stream` 0 is X's values; another one's are independent of them, as those of dY are.
  Operand(const GroupedCase& grouped, kernels::InputType type, Fill fill, unsigned stream = 0) {
    row_offsets.resize(grouped.splits.size() + 1, 0);
    std::partial_sum(grouped.splits.begin(), grouped.splits.end(), row_offsets.begin() + 1);
    const std::int64_t rows = row_offsets.back();
    const std::int64_t capacity = rows + grouped.spare_rows;
    const ElementFormat format = element_format(type);
    bytes.resize(static_cast<std::size_t>(capacity * grouped.columns) * format.bytes());
    std::mt19937 random(20240607U + static_cast<unsigned>(grouped.columns) + 0x9E3779B9U * stream);
    const std::uint32_t poison = format.infinity() - 1U;
    std::uint8_t* target = bytes.data();
    std::vector<unsigned> kinds(static_cast<std::size_t>(grouped.columns / 128 + 1), 4U);
    for (std::int64_t row = 0; row < capacity; ++row) {
      if (fill == Fill::Wild && row % 2 == 0) {
        for (unsigned& kind : kinds) kind = static_cast<unsigned>(random()) % 7U;
      }
      for (std::int64_t column = 0; column < grouped.columns; ++column) {
        const std::uint32_t bits =
            row < rows ? element_bits(format, kinds[static_cast<std::size_t>(column / 128)],
                                      static_cast<std::uint32_t>(random()))
                       : poison;
        std::memcpy(target, &bits, format.bytes());  // little endian
        target += format.bytes();
      }
    }
    input = {.input = bytes.data(),
             .type = type,
             .row_offsets = row_offsets.data(),
             .num_groups = static_cast<int>(grouped.splits.size()),
             .capacity_rows = capacity,
             .columns = grouped.columns};
  }
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;
};

/// Every combination of type, format, options and fill, with a line that names it.
struct Variant {
  kernels::InputType type;
  kernels::Fp8Format format;
  kernels::ScaleOptions options;
  Fill fill;
  std::string name() const {
    return "type " + std::to_string(static_cast<int>(type)) + " format " +
           std::to_string(static_cast<int>(format)) + " pow2 " + std::to_string(options.pow2) +
           " epsilon " + std::to_string(options.amax_epsilon) + " fill " +
           std::to_string(static_cast<int>(fill));
  }
};

inline std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (const auto type :
       {kernels::InputType::Bf16, kernels::InputType::Fp16, kernels::InputType::Fp32}) {
    for (const auto format : {kernels::Fp8Format::E4m3, kernels::Fp8Format::E5m2}) {
      for (const kernels::ScaleOptions& options :
           {kernels::ScaleOptions{}, kernels::ScaleOptions{.pow2 = true},
            kernels::ScaleOptions{.amax_epsilon = 0.25F}}) {
        for (const Fill fill : {Fill::Mild, Fill::Wild}) {
          all.push_back({type, format, options, fill});
        }
      }
    }
  }
  return all;
}

/// What outputs hold before a kernel runs; whatever it should not touch must still hold it after.
inline constexpr std::uint8_t kCodeSentinel = 0xA5;
inline constexpr std::uint32_t kFloatSentinel = 0xFFC0DEADU;  // a NaN no kernel produces

}  // namespace quantize_tests

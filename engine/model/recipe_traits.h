// The recipes: what each does and what can be chosen about it. Code asks these traits; nothing
// compares with an enumerator (tests/unit/layering). engine/quantize maps them to kernels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace engine {

/// RecipeTraits::meaning says what each does.
enum class Scaling { None, PerTensorCurrent, Block, PerTensorDelayed, Mxfp8, Nvfp4 };
constexpr auto enum_names(Scaling) {
  return std::to_array<std::string_view>(
      {"bf16", "fp8-per-tensor", "fp8-block", "fp8-delayed", "mxfp8", "nvfp4"});
}

/// The number that scales the codes of a block.
enum class ScaleNumber : std::uint8_t {
  None,  // nothing is scaled
  Fp32,
  E8m0,  // a power of two in a byte
  E4m3,  // a byte; an FP32 amax of the whole expert scales it in turn
};

/// How the scale comes to be.
enum class AmaxSource : std::uint8_t {
  None,
  FirstPass,  // the operand is read once before its first code is written
  Tile,       // the quantize pass has it from the block that it is about to write
  History,    // of earlier steps; this step's is noted for the next
};

struct RecipeTraits {
  std::string_view label;    // in the window, next to the others
  std::string_view title;    // in sentences
  std::string_view meaning;  // in lists of recipes
  int code_bits = 16;        // of an element; 8 = FP8 in E4M3 or E5M2, 4 = E2M1
  ScaleNumber scale = ScaleNumber::None;
  AmaxSource amax = AmaxSource::None;
  int block = 0;                      // elements in a line with one scale; 0 = all of an expert's
  bool square_weights = false;        // W can have one scale for block x block elements
  bool square_activations = false;    // and so can X and dY
  bool amax_epsilon = false;          // Recipe::amax_epsilon has an effect
  bool split_accumulator = false;     // Recipe::split_accumulator is a choice
  bool transposed_columnwise = true;  // the columnwise copy has the rows of the other direction
  bool hadamard = false;              // Recipe::hadamard has an effect
  bool stochastic_rounding = false;   // Recipe::stochastic_rounding has an effect
  bool sums_bias = false;             // the quantize pass can sum the columns of dY
  bool fuses_activation = false;      // the quantize pass can compute an activation first

  constexpr bool quantizes() const { return code_bits < 16; }
  /// Whether the format can be E4M3 or E5M2; otherwise there is only one element format.
  constexpr bool chooses_format() const { return code_bits == 8; }
  /// Rounding scales down to powers of two is a choice.
  constexpr bool chooses_pow2() const { return scale == ScaleNumber::Fp32; }
  /// Whether the scales are powers of two.
  constexpr bool pow2_scales(bool chosen) const {
    return chooses_pow2() ? chosen : scale == ScaleNumber::E8m0;
  }
  /// Scales of four bytes, however they are rounded.
  constexpr bool fp32_scales() const { return scale == ScaleNumber::Fp32; }
  /// Blocks of 16 or 32 elements with scales of one byte.
  constexpr bool micro() const { return scale != ScaleNumber::None && !fp32_scales(); }
  constexpr bool per_tensor() const { return quantizes() && block == 0; }
  constexpr bool measures_amax() const { return amax == AmaxSource::FirstPass; }
  constexpr bool remembers_amax() const { return amax == AmaxSource::History; }
  /// Calls of quantize after which the scales fit the operand: a history begins empty.
  constexpr int warm_up_steps() const { return remembers_amax() ? 2 : 1; }
  /// Times a quantize pass reads its operand.
  constexpr int reads() const { return measures_amax() ? 2 : 1; }
  /// Whether every expert has its own FP32 amax, by which products multiply.
  constexpr bool expert_amax() const { return scale == ScaleNumber::E4m3; }
  /// Bytes of an element with its share of the scales.
  constexpr double element_bytes(bool square) const {
    const double codes = code_bits / 8.0;
    if (block == 0) return codes;
    if (micro()) return codes + 1.0 / block;  // a square repeats its scale on every line
    return codes + 4.0 / (square ? double{1} * block * block : block);
  }
};

inline constexpr std::array<RecipeTraits, enum_names(Scaling{}).size()> kRecipeTraits = {{
    {.label = "BF16", .title = "BF16", .meaning = "BF16: nothing is quantized"},
    {.label = "FP8 tensor",
     .title = "FP8 per tensor",
     .meaning = "FP8, one scale per expert from its own amax",
     .code_bits = 8,
     .scale = ScaleNumber::Fp32,
     .amax = AmaxSource::FirstPass,
     .amax_epsilon = true,
     .split_accumulator = true,
     .sums_bias = true,
     .fuses_activation = true},
    {.label = "FP8 block",
     .title = "FP8 block",
     .meaning = "FP8, 1x128 blocks on activations, 128x128 blocks on weights",
     .code_bits = 8,
     .scale = ScaleNumber::Fp32,
     .amax = AmaxSource::Tile,
     .block = 128,
     .square_weights = true,
     .square_activations = true,
     .amax_epsilon = true,
     .sums_bias = true,
     .fuses_activation = true},
    {.label = "FP8 delayed",
     .title = "FP8 per tensor with delayed scaling",
     .meaning = "FP8, one scale per expert from the amax of earlier steps",
     .code_bits = 8,
     .scale = ScaleNumber::Fp32,
     .amax = AmaxSource::History,
     .split_accumulator = true,
     .sums_bias = true,
     .fuses_activation = true},
    {.label = "MXFP8",
     .title = "MXFP8",
     .meaning = "FP8, a power-of-two scale per 1x32 elements",
     .code_bits = 8,
     .scale = ScaleNumber::E8m0,
     .amax = AmaxSource::Tile,
     .block = 32,
     .square_weights = true,
     .transposed_columnwise = false,
     .sums_bias = true,
     .fuses_activation = true},
    {.label = "NVFP4",
     .title = "NVFP4",
     .meaning = "E2M1, an E4M3 scale per 1x16 elements and an FP32 amax per expert",
     .code_bits = 4,
     .scale = ScaleNumber::E4m3,
     .amax = AmaxSource::FirstPass,
     .block = 16,
     .square_weights = true,
     .hadamard = true,
     .stochastic_rounding = true},
}};

constexpr const RecipeTraits& traits_of(Scaling scaling) {
  return kRecipeTraits[static_cast<std::size_t>(scaling)];
}

}  // namespace engine

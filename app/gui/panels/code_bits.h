// What the bits of a code mean: sign, exponent and mantissa of E4M3, E5M2 and E2M1, and the number
// they represent before scaling. No ImGui calls.
#pragma once

#include <cstdint>
#include <string>

#include "engine/input/tensor_source.h"
#include "engine/model/recipe_comparison.h"

namespace app {

struct CodeFormat {
  const char* name = "E4M3";
  int exponent_bits = 4;
  int mantissa_bits = 3;
  int bits() const { return 1 + exponent_bits + mantissa_bits; }
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};

/// The format a recipe gives an operand; weights are E4M3 whatever X and dY are.
CodeFormat code_format(const engine::Recipe& recipe, engine::OperandRole role);
/// Whether the codes are of sums over 16 rows (random Hadamard transform): NVFP4's columnwise copy
/// of X and dY. Weights are never transformed, whatever the recipe says.
bool transformed_codes(const engine::Recipe& recipe, engine::OperandRole role, bool columnwise);
/// NaN and infinities where the format has them: E4M3 has no infinity, E2M1 has neither.
double code_value(CodeFormat format, std::uint8_t code);
/// Distance from `encoded`, an element before rounding in units of its scale, to the code's value,
/// in steps of the grid at that value; at most 0.5 where rounding was to nearest. NaN for codes and
/// elements that are not finite.
double grid_steps(CodeFormat format, std::uint8_t code, double encoded);
/// "0x3D", "0x5" for four bits.
std::string code_hex(CodeFormat format, std::uint8_t code);
/// "0 0111 101": sign, exponent, mantissa.
std::string code_bits(CodeFormat format, std::uint8_t code);
/// "+1.625 x 2^0", "+0.375 x 2^-6 (subnormal)".
std::string code_reading(CodeFormat format, std::uint8_t code);

}  // namespace app

// Written from the formats' definitions, so that what is shown does not depend on the encoder.
#include "app/gui/panels/code_bits.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "engine/model/recipe_traits.h"
#include "profiling/document/underflow_words.h"

namespace app {
namespace {

struct Fields {
  bool negative = false;
  int exponent = 0;  // as stored
  int mantissa = 0;
};

Fields fields_of(CodeFormat format, std::uint8_t code) {
  const int mantissa_mask = (1 << format.mantissa_bits) - 1;
  const int exponent_mask = (1 << format.exponent_bits) - 1;
  return {.negative = ((code >> (format.bits() - 1)) & 1) != 0,
          .exponent = (code >> format.mantissa_bits) & exponent_mask,
          .mantissa = code & mantissa_mask};
}

/// Whether the code is a finite number: 0 = it is, 1 = infinity, 2 = NaN.
int special(CodeFormat format, const Fields& fields) {
  const bool top = fields.exponent == (1 << format.exponent_bits) - 1;
  if (!top || format.exponent_bits == 2) return 0;
  if (format.exponent_bits == 4) {
    return fields.mantissa == (1 << format.mantissa_bits) - 1 ? 2 : 0;
  }
  return fields.mantissa == 0 ? 1 : 2;
}

double fraction_of(CodeFormat format, const Fields& fields) {
  return std::ldexp(fields.mantissa, -format.mantissa_bits) + (fields.exponent > 0 ? 1.0 : 0.0);
}

int power_of(CodeFormat format, const Fields& fields) {
  return (fields.exponent > 0 ? fields.exponent : 1) - format.bias();
}

}  // namespace

bool transformed_codes(const engine::Recipe& recipe, engine::OperandRole role, bool columnwise) {
  return profiling::has_transformed_codes(recipe, role, columnwise);
}

CodeFormat code_format(const engine::Recipe& recipe, engine::OperandRole role) {
  if (!engine::traits_of(recipe).chooses_format()) {
    return {.name = "E2M1", .exponent_bits = 2, .mantissa_bits = 1};
  }
  const engine::Fp8Format wanted =
      role == engine::OperandRole::Gradients ? recipe.gradient_format : recipe.activation_format;
  if (role != engine::OperandRole::Weights && wanted == engine::Fp8Format::E5m2) {
    return {.name = "E5M2", .exponent_bits = 5, .mantissa_bits = 2};
  }
  return {};
}

double code_value(CodeFormat format, std::uint8_t code) {
  const Fields fields = fields_of(format, code);
  const double sign = fields.negative ? -1.0 : 1.0;
  switch (special(format, fields)) {
    case 1:
      return sign * std::numeric_limits<double>::infinity();
    case 2:
      return std::numeric_limits<double>::quiet_NaN();
    default:
      return sign * std::ldexp(fraction_of(format, fields), power_of(format, fields));
  }
}

double grid_steps(CodeFormat format, std::uint8_t code, double encoded) {
  const double value = code_value(format, code);
  if (!std::isfinite(value) || !std::isfinite(encoded)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const Fields fields = fields_of(format, code);
  return std::abs(encoded - value) /
         std::ldexp(1.0, power_of(format, fields) - format.mantissa_bits);
}

std::string code_hex(CodeFormat format, std::uint8_t code) {
  return fmt::format("0x{:0{}X}", code, format.bits() / 4);
}

std::string code_bits(CodeFormat format, std::uint8_t code) {
  const Fields fields = fields_of(format, code);
  return fmt::format("{} {:0{}b} {:0{}b}", fields.negative ? 1 : 0, fields.exponent,
                     format.exponent_bits, fields.mantissa, format.mantissa_bits);
}

std::string code_reading(CodeFormat format, std::uint8_t code) {
  const Fields fields = fields_of(format, code);
  const char* sign = fields.negative ? "-" : "+";
  switch (special(format, fields)) {
    case 1:
      return fmt::format("{}infinity", sign);
    case 2:
      return "NaN";
    default:
      break;
  }
  if (fields.exponent == 0 && fields.mantissa == 0) return fmt::format("{}0", sign);
  return fmt::format("{}{} x 2^{}{}", sign, fraction_of(format, fields), power_of(format, fields),
                     fields.exponent == 0 ? " (subnormal)" : "");
}

}  // namespace app

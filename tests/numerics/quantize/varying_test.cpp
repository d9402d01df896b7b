// Groups that differ in columns, on the host: every group's codes, scales and decoded values
// against an operand that consists of it alone, at places counted here; rowwise FP8 also against
// the definition. Nothing else is written.
#include <gtest/gtest.h>

#include <functional>

#include "kernels/amax/group_amax.h"
#include "kernels/dequantize/dequantize_varying.h"
#include "kernels/quantize/quantize_varying.h"
#include "tests/numerics/quantize/plain_reference.h"
#include "tests/numerics/quantize/varying_run.h"

namespace quantize_tests::varying_groups {
namespace {

using kernels::Direction;
using kernels::InputType;
using kernels::ScaleLayout;

class Varying : public testing::TestWithParam<VaryingCase> {};

/// One direction's outputs, sentinels before; scales as bytes of whatever type.
struct Outputs {
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;
  bool operator==(const Outputs&) const = default;
  float* floats() { return reinterpret_cast<float*>(scales.data()); }
};

/// What a recipe needs to run on an operand of any shape, and how its outputs are laid out.
struct VaryingRecipe {
  const char* name;
  ScaleLayout layout;
  /// The plain twin, on one group.
  std::function<void(const kernels::GroupedInput&, Outputs&, Outputs&, float* amax)> plain;
  std::function<void(const kernels::GroupedInput&, const kernels::VaryingOperand&, Outputs&,
                     Outputs&, float* amax)>
      varying;
};

bool is_nv(ScaleLayout layout) {
  return layout == ScaleLayout::Nv1x16 || layout == ScaleLayout::Nv16x16;
}
std::int64_t code_bytes(ScaleLayout layout, bool columnwise, std::int64_t m, std::int64_t n) {
  if (!is_nv(layout)) return m * n;
  return (columnwise ? (m + 15) / 16 * 16 : m) * n / 2;
}
std::int64_t scale_bytes(ScaleLayout layout, bool columnwise, std::int64_t m, std::int64_t n) {
  const bool floats = layout == ScaleLayout::PerTensor || layout == ScaleLayout::BlockLine ||
                      layout == ScaleLayout::BlockSquare;
  return scales_of_group(layout, columnwise, m, n) * (floats ? 4 : 1);
}

kernels::QuantizeBlockArgs block_args(const kernels::GroupedInput& input, Outputs& row,
                                      Outputs& column) {
  return {.input = input,
          .rowwise = {.codes = row.codes.data(), .scale_inv = row.floats()},
          .columnwise = {.codes = column.codes.data(), .scale_inv = column.floats()}};
}
kernels::QuantizePerTensorArgs tensor_args(const kernels::GroupedInput& input, Outputs& row,
                                           Outputs& column, const float* scale) {
  return {.input = input,
          .scale = scale,
          .rowwise = row.codes.data(),
          .columnwise = column.codes.data(),
          .scale_inv = row.floats()};
}
kernels::QuantizeMxfp8Args mx_args(const kernels::GroupedInput& input, Outputs& row,
                                   Outputs& column) {
  return {.input = input,
          .layout = kernels::MicroScaleLayout::Swizzled,
          .rowwise = {row.codes.data(), row.scales.data()},
          .columnwise = {column.codes.data(), column.scales.data()}};
}
kernels::QuantizeNvfp4Args nv_args(const kernels::GroupedInput& input, Outputs& row,
                                   Outputs& column, const float* amax, bool hadamard) {
  return {.input = input,
          .hadamard = hadamard,
          .rowwise = {row.codes.data(), row.scales.data(), amax},
          .columnwise = {column.codes.data(), column.scales.data(), amax}};
}

std::vector<VaryingRecipe> varying_recipes() {
  using kernels::GroupedInput;
  using kernels::VaryingOperand;
  std::vector<VaryingRecipe> recipes;
  for (const bool square : {false, true}) {
    recipes.push_back(
        {square ? "128x128" : "1x128", square ? ScaleLayout::BlockSquare : ScaleLayout::BlockLine,
         [square](const GroupedInput& input, Outputs& row, Outputs& column, float*) {
           (square ? kernels::quantize_block_squares_cpu
                   : kernels::quantize_block_lines_cpu)(block_args(input, row, column));
         },
         [square](const GroupedInput& input, const VaryingOperand& operand, Outputs& row,
                  Outputs& column, float*) {
           kernels::quantize_block_varying_cpu(block_args(input, row, column), square, operand);
         }});
  }
  recipes.push_back({"per tensor", ScaleLayout::PerTensor,
                     [](const GroupedInput& input, Outputs& row, Outputs& column, float* amax) {
                       kernels::quantize_per_tensor_cpu(tensor_args(input, row, column, amax));
                     },
                     [](const GroupedInput& input, const VaryingOperand& operand, Outputs& row,
                        Outputs& column, float* amax) {
                       kernels::quantize_per_tensor_varying_cpu(
                           tensor_args(input, row, column, amax), operand);
                     }});
  recipes.push_back(
      {"MXFP8", ScaleLayout::Mx1x32,
       [](const GroupedInput& input, Outputs& row, Outputs& column, float*) {
         kernels::quantize_mxfp8_cpu(mx_args(input, row, column));
       },
       [](const GroupedInput& input, const VaryingOperand& operand, Outputs& row, Outputs& column,
          float*) { kernels::quantize_mxfp8_varying_cpu(mx_args(input, row, column), operand); }});
  for (const bool hadamard : {false, true}) {
    recipes.push_back(
        {hadamard ? "NVFP4 hadamard" : "NVFP4", ScaleLayout::Nv1x16,
         [hadamard](const GroupedInput& input, Outputs& row, Outputs& column, float* amax) {
           kernels::nvfp4_amax_cpu({.input = input, .rowwise_amax = amax});
           kernels::quantize_nvfp4_cpu(nv_args(input, row, column, amax, hadamard));
         },
         [hadamard](const GroupedInput& input, const VaryingOperand& operand, Outputs& row,
                    Outputs& column, float* amax) {
           kernels::nvfp4_amax_varying_cpu({.input = input, .rowwise_amax = amax}, operand);
           kernels::quantize_nvfp4_varying_cpu(nv_args(input, row, column, amax, hadamard),
                                               operand);
         }});
  }
  return recipes;
}

/// Elements of all groups in one buffer, and the arrays that describe them.
struct VaryingInput {
  Operand flat;  // rows of 16 elements, so that the groups' boundaries do not show in the fill
  Offsets row_offsets;
  Offsets elements;
  kernels::GroupedInput input;

  VaryingInput(const VaryingCase& varying, InputType type, Fill fill)
      : flat({.name = "",
              .splits = {varying.elements() / 16},
              .spare_rows = varying.spare_elements / 16,
              .columns = 16},
             type, fill),
        row_offsets(summed(varying, [](auto m, auto) { return m; })),
        elements(summed(varying, [](auto m, auto n) { return m * n; })),
        input(flat.input) {
    input.row_offsets = row_offsets.data();
    input.num_groups = varying.num_groups();
    input.capacity_rows = row_offsets.back();
    input.columns = 0;
  }
  /// A group as an operand of its own; `rows` receives its row offsets.
  kernels::GroupedInput alone(const VaryingCase& varying, std::size_t g, Offsets& rows) const {
    rows = {0, varying.rows[g]};
    return {.input = flat.bytes.data() + at(elements[g]) * element_format(input.type).bytes(),
            .type = input.type,
            .row_offsets = rows.data(),
            .num_groups = 1,
            .capacity_rows = varying.rows[g],
            .columns = varying.columns[g]};
  }
};

Outputs sized(std::int64_t codes, std::int64_t scales) {
  return {std::vector<std::uint8_t>(at(codes), kCodeSentinel),
          std::vector<std::uint8_t>(at(scales), kCodeSentinel)};
}

TEST_P(Varying, EveryGroupIsQuantizedAsIfItWereAlone) {
  const VaryingCase& varying = GetParam();
  for (const VaryingRecipe& recipe : varying_recipes()) {
    for (const InputType type : {InputType::Bf16, InputType::Fp32}) {
      SCOPED_TRACE(recipe.name);
      const VaryingInput operand(varying, type, Fill::Wild);
      Offsets code_places[2];
      Offsets scale_places[2];
      Offsets scale_bytes_before[2];
      Outputs got[2];
      Outputs expected[2];
      for (const bool columnwise : {false, true}) {
        const auto d = at(columnwise ? 1 : 0);
        code_places[d] = summed(
            varying, [&](auto m, auto n) { return code_bytes(recipe.layout, columnwise, m, n); });
        scale_places[d] = summed(varying, [&](auto m, auto n) {
          return scales_of_group(recipe.layout, columnwise, m, n);
        });
        scale_bytes_before[d] = summed(
            varying, [&](auto m, auto n) { return scale_bytes(recipe.layout, columnwise, m, n); });
        got[d] = expected[d] = sized(code_places[d].back() + 5, scale_bytes_before[d].back() + 8);
      }
      std::vector<float> numbers(varying.rows.size());  // amax or, per tensor, scales
      for (std::size_t g = 0; g < numbers.size(); ++g) {
        numbers[g] = 0.25F + static_cast<float>(g % 50);
      }
      std::vector<float> own_numbers = numbers;
      recipe.varying(
          operand.input,
          {.groups = {.columns = varying.columns.data(),
                      .elements = operand.elements.data(),
                      .capacity_elements = varying.elements()},
           .places = {.rowwise_scales = scale_places[0].data(),
                      .columnwise_scales = scale_places[1].data(),
                      .columnwise_codes = is_nv(recipe.layout) ? code_places[1].data() : nullptr}},
          got[0], got[1], numbers.data());
      for (std::size_t g = 0; g < varying.rows.size(); ++g) {
        const std::int64_t m = varying.rows[g];
        const std::int64_t n = varying.columns[g];
        Outputs alone[2];
        for (const bool columnwise : {false, true}) {
          alone[at(columnwise ? 1 : 0)] = sized(code_bytes(recipe.layout, columnwise, m, n),
                                                scale_bytes(recipe.layout, columnwise, m, n));
        }
        if (m > 0 && n > 0) {
          Offsets rows;
          recipe.plain(operand.alone(varying, g, rows), alone[0], alone[1], &own_numbers[g]);
        } else if (recipe.layout == ScaleLayout::PerTensor) {
          *alone[0].floats() = 1.0F / own_numbers[g];
        } else if (is_nv(recipe.layout)) {
          own_numbers[g] = 0.0F;
        }
        for (std::size_t d = 0; d < 2; ++d) {
          std::copy(alone[d].codes.begin(), alone[d].codes.end(),
                    expected[d].codes.begin() + code_places[d][g]);
          std::copy(alone[d].scales.begin(), alone[d].scales.end(),
                    expected[d].scales.begin() + scale_bytes_before[d][g]);
        }
      }
      EXPECT_EQ(numbers, own_numbers);
      ASSERT_EQ(got[0], expected[0]);
      ASSERT_EQ(got[1], expected[1]);
    }
  }
}

TEST_P(Varying, RowwiseFp8IsWhatTheDefinitionSays) {
  const VaryingCase& varying = GetParam();
  if (varying.rows.size() > 300) return;  // the definition is slow
  for (const bool square : {false, true}) {
    const Variant variant{InputType::Bf16, kernels::Fp8Format::E4m3, {.pow2 = square}, Fill::Wild};
    const VaryingInput operand(varying, variant.type, variant.fill);
    const ScaleLayout layout = square ? ScaleLayout::BlockSquare : ScaleLayout::BlockLine;
    const Offsets places =
        summed(varying, [&](auto m, auto n) { return scales_of_group(layout, false, m, n); });
    std::vector<std::uint8_t> codes(at(varying.elements()), kCodeSentinel);
    std::vector<float> scales(at(places.back()), float_sentinel());
    kernels::quantize_block_varying_cpu(
        {.input = operand.input,
         .options = variant.options,
         .rowwise = {.codes = codes.data(), .scale_inv = scales.data()}},
        square,
        {.groups = {varying.columns.data(), operand.elements.data(), varying.elements()},
         .places = {.rowwise_scales = places.data()}});
    for (std::size_t g = 0; g < varying.rows.size(); ++g) {
      if (varying.rows[g] == 0 || varying.columns[g] == 0) continue;
      Offsets rows;
      const Expected expected =
          defined_quantization(square ? Recipe::Block128x128 : Recipe::Block1x128,
                               operand.alone(varying, g, rows), variant, places[g + 1] - places[g]);
      EXPECT_TRUE(std::equal(expected.codes.begin(), expected.codes.end(),
                             codes.begin() + operand.elements[g]));
      EXPECT_EQ(std::memcmp(expected.scale_inv.data(), scales.data() + places[g],
                            expected.scale_inv.size() * sizeof(float)),
                0);
    }
  }
}

TEST_P(Varying, AGroupsAmaxIsThatOfItsElementsInRowsOf16) {
  const VaryingCase& varying = GetParam();
  const VaryingInput operand(varying, InputType::Fp16, Fill::Wild);
  const OffsetsRun run = run_offsets({.first_dims = varying.rows.data(),
                                      .last_dims = varying.columns.data(),
                                      .num_groups = varying.num_groups(),
                                      .capacity_rows = varying.all_rows(),
                                      .capacity_elements = varying.elements()},
                                     {{1, 16, 1}});
  kernels::GroupedInput sixteen = operand.flat.input;
  sixteen.row_offsets = run.arrays[0].data();
  sixteen.num_groups = varying.num_groups();
  std::vector<float> amax(varying.rows.size(), -1.0F);
  std::vector<float> expected(amax);
  kernels::group_amax_cpu({.input = sixteen, .amax = amax.data()});
  kernels::nvfp4_amax_varying_cpu(
      {.input = operand.input, .rowwise_amax = expected.data()},
      {.groups = {varying.columns.data(), operand.elements.data(), varying.elements()},
       .places = {}});
  EXPECT_EQ(amax, expected);
}

TEST_P(Varying, EveryGroupIsDecodedAsIfItWereAlone) {
  const VaryingCase& varying = GetParam();
  std::mt19937 random(3);
  for (const ScaleLayout layout :
       {ScaleLayout::PerTensor, ScaleLayout::BlockLine, ScaleLayout::BlockSquare,
        ScaleLayout::Mx1x32, ScaleLayout::Nv1x16}) {
    for (const bool columnwise : {false, true}) {
      const Offsets elements = summed(varying, [](auto m, auto n) { return m * n; });
      const Offsets rows = summed(varying, [](auto m, auto) { return m; });
      const Offsets codes_before =
          summed(varying, [&](auto m, auto n) { return code_bytes(layout, columnwise, m, n); });
      const Offsets places = summed(
          varying, [&](auto m, auto n) { return scales_of_group(layout, columnwise, m, n); });
      const Offsets scale_bytes_before =
          summed(varying, [&](auto m, auto n) { return scale_bytes(layout, columnwise, m, n); });
      std::vector<std::uint8_t> codes(at(codes_before.back()));
      for (std::uint8_t& code : codes) code = static_cast<std::uint8_t>(random());
      std::vector<std::uint8_t> scales(at(scale_bytes_before.back()));
      for (std::uint8_t& byte : scales) byte = static_cast<std::uint8_t>(random() % 0x7F);
      std::vector<float> amax(varying.rows.size());
      for (float& value : amax) value = static_cast<float>(random() % 100);
      const Direction direction = columnwise ? Direction::Columnwise : Direction::Rowwise;
      std::vector<std::uint32_t> got(at(varying.elements()) + 3, kFloatSentinel);
      std::vector<std::uint32_t> expected(got);
      kernels::dequantize_varying_cpu(
          {.whole = {.quantized = {.codes = codes.data(),
                                   .layout = layout,
                                   .direction = direction,
                                   .scales = scales.data(),
                                   .amax = amax.data(),
                                   .row_offsets = rows.data(),
                                   .num_groups = varying.num_groups(),
                                   .capacity_rows = rows.back()},
                     .output = got.data()},
           .groups = {varying.columns.data(), elements.data(), varying.elements()},
           .places = {.rowwise_scales = columnwise ? nullptr : places.data(),
                      .columnwise_scales = columnwise ? places.data() : nullptr,
                      .columnwise_codes = codes_before.data()}});
      for (std::size_t g = 0; g < varying.rows.size(); ++g) {
        if (varying.rows[g] == 0 || varying.columns[g] == 0) continue;
        const Offsets own = {0, varying.rows[g]};
        kernels::dequantize_cpu({.quantized = {.codes = codes.data() + codes_before[g],
                                               .layout = layout,
                                               .direction = direction,
                                               .scales = scales.data() + scale_bytes_before[g],
                                               .amax = &amax[g],
                                               .row_offsets = own.data(),
                                               .num_groups = 1,
                                               .capacity_rows = varying.rows[g],
                                               .columns = varying.columns[g]},
                                 .output = expected.data() + elements[g]});
      }
      ASSERT_EQ(got, expected) << static_cast<int>(layout) << columnwise;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Varying, testing::ValuesIn(varying_cases()),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace quantize_tests::varying_groups

// Stochastic rounding: tensors of one step draw different numbers, the same tensor the same ones.
#include "engine/quantize/rounding_key.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "engine/quantize/quantize_cpu.h"

namespace engine {
namespace {

constexpr OperandRole kRoles[] = {OperandRole::Activations, OperandRole::Weights,
                                  OperandRole::Gradients};

TEST(RoundingKey, DiffersBetweenAnyTwoTensorsAndSeeds) {
  std::set<std::uint64_t> keys;
  std::size_t tensors = 0;
  for (const std::uint64_t seed : {0U, 1U, 2U}) {
    for (const OperandRole role : kRoles) {
      for (int layer = 0; layer < 8; ++layer) {
        for (int part = 0; part < 64; ++part, ++tensors) {
          keys.insert(rounding_key(seed, {.role = role, .layer = layer, .part = part}));
        }
      }
    }
  }
  EXPECT_EQ(keys.size(), tensors);
  EXPECT_EQ(rounding_key(7, {.layer = 1}), rounding_key(7, {.layer = 1}));
}

/// NVFP4 codes of one and the same tensor as operand `role`, in `layer`, as `part`.
std::vector<std::uint8_t> codes(OperandRole role, int layer, int part) {
  constexpr std::int64_t kRows = 64;
  constexpr std::int64_t kColumns = 64;
  static const std::int64_t offsets[] = {0, kRows};
  std::vector<float> values(kRows * kColumns);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i % 97) / 97.0F - 0.5F;
  }
  CpuQuantizer quantizer({.recipe = {.scaling = Scaling::Nvfp4,
                                     .square_weight_blocks = false,
                                     .hadamard = false,
                                     .stochastic_rounding = true},
                          .role = role,
                          .input = {.input = values.data(),
                                    .type = kernels::InputType::Fp32,
                                    .row_offsets = offsets,
                                    .num_groups = 1,
                                    .capacity_rows = kRows,
                                    .columns = kColumns},
                          .layer = layer,
                          .part = part});
  quantizer.quantize();
  return quantizer.codes();
}

TEST(RoundingKey, EqualTensorsRoundDifferentlyAtEachPlaceInTheStep) {
  const std::vector<std::uint8_t> first = codes(OperandRole::Activations, 0, 0);
  EXPECT_EQ(codes(OperandRole::Activations, 0, 0), first);
  EXPECT_NE(codes(OperandRole::Gradients, 0, 0), first);
  EXPECT_NE(codes(OperandRole::Weights, 0, 0), first);
  EXPECT_NE(codes(OperandRole::Activations, 1, 0), first);
  EXPECT_NE(codes(OperandRole::Activations, 0, 1), first);
}

}  // namespace
}  // namespace engine

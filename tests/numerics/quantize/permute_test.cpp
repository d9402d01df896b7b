// Permutation on the host: the map against a stable sort, rows against a walk over all copies, sums
// in the order that the header defines and near those in double; and that quantizing through the
// map gives what quantizing the permuted rows does.
#include "kernels/permute/permute.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>

#include "kernels/amax/group_amax.h"
#include "kernels/common/element_run.h"
#include "kernels/permute/routing_map.h"
#include "kernels/quantize/quantize_routed.h"
#include "tests/numerics/quantize/block_outputs.h"
#include "tests/numerics/quantize/plain_reference.h"
#include "tests/numerics/quantize/routing_cases.h"

namespace quantize_tests::permutation {
namespace {

using kernels::InputType;

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

struct Map {
  std::vector<std::int32_t> experts;
  std::vector<std::int64_t> splits;
  std::vector<std::int64_t> row_offsets;
  std::vector<std::int64_t> padded;
  std::vector<std::int32_t> row_tokens;
  std::vector<std::int32_t> copy_rows;

  explicit Map(const RoutingCase& routing, std::int64_t padding = 0)
      : experts(experts_of(routing)),
        splits(at(routing.num_groups), -1),
        row_offsets(at(routing.num_groups + 1), -1),
        padded(row_offsets),
        row_tokens(experts.size(), -7),
        copy_rows(experts.size(), -7) {
    kernels::routing_map_cpu({.experts = experts.data(),
                              .tokens = routing.tokens,
                              .top_k = routing.top_k,
                              .num_groups = routing.num_groups,
                              .splits = splits.data(),
                              .row_offsets = row_offsets.data(),
                              .row_tokens = row_tokens.data(),
                              .copy_rows = copy_rows.data(),
                              .padded_row_offsets = padding > 0 ? padded.data() : nullptr,
                              .padding = std::max<std::int64_t>(padding, 1)});
  }
  kernels::PermutedRows rows(const RoutingCase& routing, bool pads) const {
    return {.copy_rows = copy_rows.data(),
            .tokens = routing.tokens,
            .top_k = routing.top_k,
            .row_offsets = pads ? row_offsets.data() : nullptr,
            .padded_row_offsets = pads ? padded.data() : nullptr,
            .num_groups = routing.num_groups};
  }
};

class Permutation : public testing::TestWithParam<RoutingCase> {};

TEST_P(Permutation, TheMapIsAStableSortByExpert) {
  const RoutingCase& routing = GetParam();
  for (const std::int64_t padding : {0, 1, 16, 128}) {
    const Map map(routing, padding);
    std::vector<std::int32_t> order;
    for (std::size_t copy = 0; copy < map.experts.size(); ++copy) {
      if (map.experts[copy] >= 0 && map.experts[copy] < routing.num_groups) {
        order.push_back(static_cast<std::int32_t>(copy));
      } else {
        EXPECT_EQ(map.copy_rows[copy], -1);
      }
    }
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
      return map.experts[at(a)] < map.experts[at(b)];
    });
    std::int64_t row = 0;
    std::int64_t padded_begin = 0;
    for (int g = 0; g < routing.num_groups; ++g) {
      const std::int64_t begin = row;
      ASSERT_EQ(map.row_offsets[at(g)], begin);
      if (padding > 0) {
        ASSERT_EQ(map.padded[at(g)], padded_begin);
      }
      while (row < static_cast<std::int64_t>(order.size()) &&
             map.experts[at(order[at(row)])] == g) {
        const std::int32_t copy = order[at(row)];
        ASSERT_EQ(map.row_tokens[at(row)], copy / routing.top_k);
        ASSERT_EQ(map.copy_rows[at(copy)], padding > 0 ? padded_begin + row - begin : row);
        ++row;
      }
      ASSERT_EQ(map.splits[at(g)], row - begin);
      if (padding > 0) padded_begin += (row - begin + padding - 1) / padding * padding;
    }
    EXPECT_EQ(map.row_offsets.back(), row);
    EXPECT_EQ(row, static_cast<std::int64_t>(order.size()));
    if (padding > 0) {
      EXPECT_EQ(map.padded.back(), padded_begin);
    }
    EXPECT_LE(padded_begin,
              kernels::permuted_capacity(routing.tokens, routing.top_k, routing.num_groups,
                                         std::max<std::int64_t>(padding, 1)));
    for (; row < static_cast<std::int64_t>(map.row_tokens.size()); ++row) {
      ASSERT_EQ(map.row_tokens[at(row)], -7) << "past the last row";
    }
  }
}

/// Rows of one operand, and how they are read.
struct Rows {
  Operand operand;
  Rows(std::int64_t rows, std::int64_t columns, InputType type, Fill fill, unsigned stream)
      : operand({.name = "", .splits = {rows}, .columns = columns}, type, fill, stream) {}
  const void* data() const { return operand.bytes.data(); }
  float value(std::int64_t row, std::int64_t column) const {
    return element(operand.input, row, column);
  }
};

std::uint32_t bits_at(const std::vector<std::uint8_t>& bytes, std::int64_t index, InputType type) {
  const std::size_t size = element_format(type).bytes();
  std::uint32_t bits = 0;
  std::memcpy(&bits, bytes.data() + at(index) * size, size);
  return bits;
}

std::uint32_t rounded_bits(float value, InputType type) {
  if (type == InputType::Bf16) return kernels::round_to_bf16(value);
  if (type == InputType::Fp16) return kernels::round_to_fp16(value);
  return std::isnan(value) ? 0x7FFFFFFFU : std::bit_cast<std::uint32_t>(value);
}

constexpr InputType kTypes[] = {InputType::Bf16, InputType::Fp16, InputType::Fp32};

/// Compares many elements with one assertion.
class Mismatches {
 public:
  void expect(bool equal, std::int64_t where) {
    if (!equal && count_++ == 0) first_ = where;
  }
  ~Mismatches() { EXPECT_EQ(count_, 0) << "the first is element " << first_; }

 private:
  std::int64_t count_ = 0;
  std::int64_t first_ = 0;
};

TEST_P(Permutation, RowsAreCopiesOfTheirTokensAndPaddingIsZero) {
  const RoutingCase& routing = GetParam();
  for (const InputType type : kTypes) {
    for (const bool pads : {false, true}) {
      const Map map(routing, pads ? 16 : 0);
      const Rows tokens(routing.tokens, routing.columns, type, Fill::Wild, 0);
      const std::size_t size = element_format(type).bytes();
      const std::int64_t capacity =
          kernels::permuted_capacity(routing.tokens, routing.top_k, routing.num_groups, 16) + 2;
      std::vector<std::uint8_t> output(at(capacity * routing.columns) * size, kCodeSentinel);
      kernels::permute_cpu({.rows = map.rows(routing, pads),
                            .type = type,
                            .columns = routing.columns,
                            .input = tokens.data(),
                            .output = output.data()});
      // Every row is someone's: a copy's, padding, or no one's, which keeps the sentinel.
      std::vector<std::int64_t> token_of(at(capacity), -1);
      for (std::size_t copy = 0; copy < map.copy_rows.size(); ++copy) {
        if (map.copy_rows[copy] >= 0) {
          token_of[at(map.copy_rows[copy])] = static_cast<std::int64_t>(copy) / routing.top_k;
        }
      }
      const std::int64_t end = pads ? map.padded.back() : map.row_offsets.back();
      const std::vector<std::uint8_t> sentinel(size, kCodeSentinel);
      Mismatches mismatches;
      for (std::int64_t row = 0; row < capacity; ++row) {
        for (std::int64_t column = 0; column < routing.columns; ++column) {
          const std::int64_t index = row * routing.columns + column;
          std::uint32_t expected = row < end ? 0 : bits_at(sentinel, 0, type);
          if (token_of[at(row)] >= 0) {
            expected =
                bits_at(tokens.operand.bytes, token_of[at(row)] * routing.columns + column, type);
          }
          mismatches.expect(bits_at(output, index, type) == expected, index);
        }
      }
    }
  }
}

TEST_P(Permutation, ATokenIsTheOrderedSumOfItsCopies) {
  const RoutingCase& routing = GetParam();
  const Map map(routing);
  const std::vector<float> probabilities = probabilities_of(routing);
  for (const InputType type : kTypes) {
    const Rows permuted(map.row_offsets.back(), routing.columns, type,
                        type == InputType::Fp16 ? Fill::Mild : Fill::Wild, 1);
    for (const bool weighted : {false, true}) {
      std::vector<std::uint8_t> output(
          at(routing.tokens * routing.columns) * element_format(type).bytes(), kCodeSentinel);
      kernels::unpermute_cpu({.rows = map.rows(routing, false),
                              .type = type,
                              .columns = routing.columns,
                              .input = permuted.data(),
                              .probabilities = weighted ? probabilities.data() : nullptr,
                              .output = output.data()});
      Mismatches mismatches;
      for (std::int64_t token = 0; token < routing.tokens; ++token) {
        for (std::int64_t column = 0; column < routing.columns; ++column) {
          volatile float sum = 0.0F;
          for (int k = 0; k < routing.top_k; ++k) {
            const std::int64_t copy = token * routing.top_k + k;
            const std::int32_t row = map.copy_rows[at(copy)];
            if (row < 0) continue;
            const volatile float product =
                (weighted ? probabilities[at(copy)] : 1.0F) * permuted.value(row, column);
            sum = sum + product;
          }
          const std::int64_t index = token * routing.columns + column;
          mismatches.expect(bits_at(output, index, type) == rounded_bits(sum, type), index);
        }
      }
    }
  }
}

TEST_P(Permutation, GradientsAreThoseOfTheSum) {
  const RoutingCase& routing = GetParam();
  if (routing.tokens * routing.top_k * routing.columns > 4'000'000) return;
  const std::vector<float> probabilities = probabilities_of(routing);
  for (const InputType type : kTypes) {
    const Map map(routing, 32);
    const Rows gradient(routing.tokens, routing.columns, type, Fill::Mild, 2);
    const Rows permuted(map.padded.back(), routing.columns, type, Fill::Mild, 1);
    std::vector<std::uint8_t> of_rows(
        at((map.padded.back() + 1) * routing.columns) * element_format(type).bytes(),
        kCodeSentinel);
    std::vector<float> of_probabilities(map.copy_rows.size(), -5.0F);
    kernels::UnpermuteGradientArgs args{.rows = map.rows(routing, true),
                                        .type = type,
                                        .columns = routing.columns,
                                        .gradient = gradient.data(),
                                        .probabilities = probabilities.data(),
                                        .permuted_gradient = of_rows.data(),
                                        .permuted = permuted.data(),
                                        .probability_gradient = of_probabilities.data()};
    kernels::unpermute_gradient_cpu(args);
    Mismatches mismatches;
    std::vector<bool> is_copy(at(map.padded.back()), false);
    for (std::size_t copy = 0; copy < map.copy_rows.size(); ++copy) {
      const std::int32_t row = map.copy_rows[copy];
      if (row < 0) {
        EXPECT_EQ(of_probabilities[copy], 0.0F);
        continue;
      }
      is_copy[at(row)] = true;
      const std::int64_t token = static_cast<std::int64_t>(copy) / routing.top_k;
      std::array<float, 32> partials = {};
      double exact = 0.0;
      double magnitudes = 0.0;
      bool nan = false;
      for (std::int64_t column = 0; column < routing.columns; ++column) {
        const float g = gradient.value(token, column);
        const float v = permuted.value(row, column);
        const volatile float product = g * v;
        partials[at(column / 8 % 32)] += product;
        exact += static_cast<double>(g) * static_cast<double>(v);
        magnitudes += std::fabs(static_cast<double>(g) * static_cast<double>(v));
        nan = nan || std::isnan(g) || std::isnan(v);
        const std::int64_t index = row * routing.columns + column;
        mismatches.expect(
            bits_at(of_rows, index, type) == rounded_bits(probabilities[copy] * g, type), index);
      }
      for (const std::size_t half : {16U, 8U, 4U, 2U, 1U}) {
        for (std::size_t i = 0; i < half; ++i) partials[i] += partials[i + half];
      }
      if (nan) {
        ASSERT_TRUE(std::isnan(of_probabilities[copy]));
      } else {
        ASSERT_EQ(of_probabilities[copy], partials[0]);
        ASSERT_NEAR(static_cast<double>(of_probabilities[copy]), exact,
                    1e-6 * static_cast<double>(routing.columns) * magnitudes + 1e-30);
      }
    }
    for (std::int64_t row = 0; row <= map.padded.back(); ++row) {
      const bool padding = row < map.padded.back() && !is_copy[at(row)];
      if (!padding && row < map.padded.back()) continue;
      for (std::int64_t i = row * routing.columns; i < (row + 1) * routing.columns; ++i) {
        mismatches.expect((bits_at(of_rows, i, type) == 0) == padding, i);
      }
    }
    // Without the dot products the rows are the same.
    std::vector<std::uint8_t> alone(of_rows.size(), kCodeSentinel);
    args.permuted_gradient = alone.data();
    args.permuted = nullptr;
    args.probability_gradient = nullptr;
    kernels::unpermute_gradient_cpu(args);
    EXPECT_EQ(alone, of_rows);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Permutation, testing::ValuesIn(routing_cases()),
                         [](const auto& param) { return param.param.name; });

TEST(RoutedQuantize, EqualsPermutingFirst) {
  const RoutingCase routing{.name = "",
                            .tokens = 200,
                            .top_k = 3,
                            .num_groups = 6,
                            .busy = 5,
                            .dropped = 1,
                            .columns = 272};
  for (const InputType type : kTypes) {
    const Map map(routing);
    const Rows tokens(routing.tokens, routing.columns, type, Fill::Wild, 0);
    std::vector<std::uint8_t> permuted(at(map.row_offsets.back() * routing.columns) *
                                       element_format(type).bytes());
    // Gathered here, by the copies' rows; the kernels read the rows' tokens.
    const std::size_t row_bytes = at(routing.columns) * element_format(type).bytes();
    for (std::size_t copy = 0; copy < map.copy_rows.size(); ++copy) {
      if (map.copy_rows[copy] < 0) continue;
      const std::size_t token = copy / at(routing.top_k);
      std::copy_n(
          tokens.operand.bytes.begin() + static_cast<std::ptrdiff_t>(token * row_bytes), row_bytes,
          permuted.begin() + static_cast<std::ptrdiff_t>(at(map.copy_rows[copy]) * row_bytes));
    }
    const std::vector<std::int64_t> padded = padded_offsets(map.row_offsets, 16);
    kernels::GroupedInput plain{.input = permuted.data(),
                                .type = type,
                                .row_offsets = map.row_offsets.data(),
                                .num_groups = routing.num_groups,
                                .capacity_rows = map.row_offsets.back(),
                                .columns = routing.columns};
    kernels::GroupedInput routed = plain;
    routed.input = tokens.data();
    const kernels::OutputRows out = {padded.data(), padded.back()};

    BlockOutputs expected(plain, padded.back(), false);
    BlockOutputs got(plain, padded.back(), false);
    kernels::QuantizeBlockArgs args{.input = plain, .output_rows = out};
    expected.aim(args, true, true, true);
    kernels::quantize_block_lines_cpu(args);
    args.input = routed;
    got.aim(args, true, true, true);
    kernels::quantize_block_lines_routed_cpu(args, map.row_tokens.data());
    EXPECT_EQ(got.rowwise, expected.rowwise);
    EXPECT_EQ(got.columnwise, expected.columnwise);
    EXPECT_TRUE(equal_but_for_nans(got.bias, expected.bias));

    std::vector<float> amax(at(routing.num_groups));
    std::vector<float> routed_amax(amax);
    kernels::group_amax_cpu({.input = plain, .amax = amax.data()});
    kernels::routed_amax_cpu({.input = routed, .amax = routed_amax.data()}, map.row_tokens.data());
    EXPECT_EQ(routed_amax, amax);

    const std::vector<float> scales(at(routing.num_groups), 0.5F);
    const auto codes = [&] {
      return std::vector<std::uint8_t>(at(padded.back() * routing.columns));
    };
    std::vector<std::uint8_t> expected_codes[2] = {codes(), codes()};
    std::vector<std::uint8_t> got_codes[2] = {codes(), codes()};
    kernels::QuantizePerTensorArgs per_tensor{.input = plain,
                                              .output_rows = out,
                                              .scale = scales.data(),
                                              .rowwise = expected_codes[0].data(),
                                              .columnwise = expected_codes[1].data()};
    kernels::quantize_per_tensor_cpu(per_tensor);
    per_tensor.input = routed;
    per_tensor.rowwise = got_codes[0].data();
    per_tensor.columnwise = got_codes[1].data();
    kernels::quantize_per_tensor_routed_cpu(per_tensor, map.row_tokens.data());
    EXPECT_EQ(got_codes[0], expected_codes[0]);
    EXPECT_EQ(got_codes[1], expected_codes[1]);

    const auto micro = [&](const kernels::GroupedInput& from, bool through_map) {
      std::vector<std::uint8_t> made[4] = {
          codes(), codes(),
          std::vector<std::uint8_t>(at(kernels::micro_rowwise_scale_capacity(
              padded.back(), routing.num_groups, routing.columns, kernels::kMxBlock))),
          std::vector<std::uint8_t>(at(kernels::micro_columnwise_scale_capacity(
              padded.back(), routing.num_groups, routing.columns, kernels::kMxBlock)))};
      const kernels::QuantizeMxfp8Args cast{
          .input = from,
          .output_rows = out,
          .rowwise = {.codes = made[0].data(), .scales = made[2].data()},
          .columnwise = {.codes = made[1].data(), .scales = made[3].data()}};
      if (through_map) {
        kernels::quantize_mxfp8_routed_cpu(cast, map.row_tokens.data());
      } else {
        kernels::quantize_mxfp8_cpu(cast);
      }
      return std::to_array(made);
    };
    EXPECT_EQ(micro(routed, true), micro(plain, false));
  }
}

}  // namespace
}  // namespace quantize_tests::permutation

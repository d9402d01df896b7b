// Statistics of one-byte scales from the counts stored with them: the same as from unpacked
// elements.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/input/tensor_source.h"
#include "engine/quantize/operand_numerics.h"
#include "engine/quantize/quantize_cpu.h"
#include "engine/quantize/statistics_fold.h"

namespace engine {
namespace {

constexpr std::int64_t kUnevenColumns = 272;  // the last block of 32 has 16

struct Measured {
  OperandStatistics statistics;
  std::vector<kernels::GroupQuantizationSums> sums;
};

class MicroScaleFoldTest : public testing::Test {
 protected:
  MicroScaleFoldTest() : offsets_(splits_.size() + 1) {
    std::partial_sum(splits_.begin(), splits_.end(), offsets_.begin() + 1);
    values_.resize(static_cast<std::size_t>(offsets_.back() * kUnevenColumns));
    RunRequest request;
    request.shape = {
        .preset = "", .num_experts = 1, .rows = offsets_.back(), .n = 16, .k = kUnevenColumns};
    request.activations = SyntheticInput{.distribution = Distribution::NonFinite};
    open_source(request, OperandRole::Activations, 0)
        .value()
        ->read_bf16(0, offsets_.back(), values_);
    // Outliers make their neighbours underflow, zeros are not a loss.
    for (std::size_t i = 0; i < values_.size(); i += 97) values_[i] = 0x4F80;
    for (std::size_t i = 5; i < values_.size(); i += 89) values_[i] = 0;
  }

  kernels::GroupedInput input() const {
    return {.input = values_.data(),
            .row_offsets = offsets_.data(),
            .num_groups = static_cast<int>(splits_.size()),
            .capacity_rows = offsets_.back(),
            .columns = kUnevenColumns};
  }

  static ScaleArrays arrays(const CpuQuantizer& quantizer, std::span<const std::int64_t> splits) {
    return {.layout = quantizer.layout(),
            .splits = splits,
            .columns = kUnevenColumns,
            .scales = quantizer.view().scales,
            .amax = quantizer.view().amax};
  }

  /// From every element, unpacked.
  Measured expected(const CpuQuantizer& quantizer) const {
    UnpackedOperand unpacked;
    unpack_operand(quantizer.view(), unpacked);
    const OperandCounts counts =
        measure_elements(input(), quantizer.layout(), quantizer.view(), splits_, unpacked).counts;
    return {fold_statistics(counts, arrays(quantizer, splits_)), counts.sums};
  }

  Measured found(const CpuQuantizer& quantizer) const {
    OperandCounts counts = zero_counts(arrays(quantizer, splits_));
    kernels::quantization_statistics_cpu({.input = input(),
                                          .quantized = quantizer.view(),
                                          .before = &counts.before,
                                          .after = &counts.after,
                                          .sums = counts.sums.data(),
                                          .micro_losses = counts.micro_losses.data()});
    return {fold_statistics(counts, arrays(quantizer, splits_)), counts.sums};
  }

  void compare(const Recipe& recipe) const {
    CpuQuantizer quantizer({.recipe = recipe,
                            .role = OperandRole::Activations,
                            .direction = kernels::Direction::Rowwise,
                            .input = input()});
    quantizer.quantize();
    const Measured want = expected(quantizer);
    const Measured have = found(quantizer);
    EXPECT_EQ(have.statistics.before.counts, want.statistics.before.counts);
    EXPECT_EQ(have.statistics.after.counts, want.statistics.after.counts);
    EXPECT_EQ(have.statistics.scale.counts, want.statistics.scale.counts);
    EXPECT_GT(want.statistics.underflowed, 0U);
    std::uint64_t underflowed = 0;
    for (std::size_t group = 0; group < splits_.size(); ++group) {
      EXPECT_EQ(have.sums[group].saturated, want.sums[group].saturated) << group;
      EXPECT_EQ(have.sums[group].underflowed, want.sums[group].underflowed) << group;
      EXPECT_NEAR(have.sums[group].noise, want.sums[group].noise, want.sums[group].noise * 1e-12);
      EXPECT_NEAR(have.sums[group].signal, want.sums[group].signal,
                  want.sums[group].signal * 1e-12);
      // One from the decoded value, which rounds once more, one from the element over its factor.
      EXPECT_NEAR(have.sums[group].max_ulp, want.sums[group].max_ulp,
                  1e-5F * std::max(1.0F, want.sums[group].max_ulp));
      if (splits_[group] > 0) {
        EXPECT_GE(have.sums[group].max_ulp, 0.25F);
      }
      underflowed += have.sums[group].underflowed;
    }
    EXPECT_EQ(underflowed, want.statistics.underflowed);
    const ScaleMap& map = have.statistics.scale_map;
    const ScaleMap& same = want.statistics.scale_map;
    EXPECT_EQ(map.source_rows, same.source_rows);
    EXPECT_EQ(map.source_columns, same.source_columns);
    EXPECT_EQ(map.expert_first_row, same.expert_first_row);
    for (const auto cells :
         {&ScaleMap::mean, &ScaleMap::maximum, &ScaleMap::minimum, &ScaleMap::deviation,
          &ScaleMap::saturated_share, &ScaleMap::underflowed_share}) {
      expect_same(map.*cells, same.*cells);
    }
  }

  static void expect_same(const std::vector<float>& found, const std::vector<float>& wanted) {
    ASSERT_EQ(found.size(), wanted.size());
    ASSERT_FALSE(wanted.empty());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (std::isnan(wanted[i])) {
        ASSERT_TRUE(std::isnan(found[i])) << i;
      } else {
        ASSERT_EQ(found[i], wanted[i]) << i;
      }
    }
  }

  std::vector<std::int64_t> splits_ = {0, 37, 0, 200, 1, 128};
  std::vector<std::int64_t> offsets_;
  std::vector<std::uint16_t> values_;
};

TEST_F(MicroScaleFoldTest, Mxfp8) { compare({.scaling = Scaling::Mxfp8}); }
TEST_F(MicroScaleFoldTest, Nvfp4) {
  // One infinity makes the group's global scale, and with it all that is decoded, infinite.
  for (std::uint16_t& value : values_) {
    if ((value & 0x7F80) == 0x7F80) value = 0x3F80;
    if (value == 0x4F80) value = 0x4300;  // 2^32 would leave other blocks no scale
  }
  compare({.scaling = Scaling::Nvfp4});
}

}  // namespace
}  // namespace engine

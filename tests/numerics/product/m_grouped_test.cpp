// The CPU twin of the M-grouped products against their definition in double precision.
#include <gtest/gtest.h>

#include "kernels/common/element_run.h"
#include "tests/numerics/product/m_grouped_operands.h"

namespace m_grouped_tests {
namespace {

/// Where the scales of a row begin, counted from the first group again for every row.
const float* row_scales(const kernels::MGroupedBlockArgs& args, int group) {
  const float* scales = args.x.scale_inv;
  for (int before = 0; before < group; ++before) {
    const std::int64_t rows = args.row_offsets[before + 1] - args.row_offsets[before];
    scales += (args.reduction + 127) / 128 * ((rows + 3) / 4 * 4);
  }
  return scales;
}

double element(const kernels::MGroupedBlockArgs& args, int group, std::int64_t row,
               std::int64_t column) {
  const std::int64_t begin = args.row_offsets[group];
  const std::int64_t pitch = (args.row_offsets[group + 1] - begin + 3) / 4 * 4;
  const float* x_scales = row_scales(args, group);
  const std::int64_t squares = (args.columns + 127) / 128;
  const std::int64_t w_pitch = ((args.reduction + 127) / 128 + 3) / 4 * 4;
  double sum = 0.0;
  for (std::int64_t i = 0; i < args.reduction; ++i) {
    const std::uint8_t x = args.x.codes[(begin + row) * args.reduction + i];
    const std::uint8_t w = args.w.codes[(group * args.columns + column) * args.reduction + i];
    sum += double{kernels::fp8_values(args.x.format)[x]} *
           double{kernels::fp8_values(args.w.format)[w]} * double{x_scales[i / 128 * pitch + row]} *
           double{args.w.scale_inv[(group * squares + column / 128) * w_pitch + i / 128]};
  }
  return sum;
}

TEST(MGroupedTwin, EqualsTheDefinitionWhereSumsAreExact) {
  for (const Problem& problem : problems()) {
    for (const Fp8Format format : {Fp8Format::E4m3, Fp8Format::E5m2}) {
      SCOPED_TRACE(problem.name);
      const Operands operands(problem, Values::Exact, format);
      std::vector<float> output(output_elements(operands, problem), 7.0F);
      kernels::MGroupedBlockArgs args = operands.args(problem, format);
      args.output = output.data();
      args.type = kernels::InputType::Fp32;
      kernels::m_grouped_block_cpu(args);
      const std::int64_t step = problem.splits.size() * problem.columns > 2000 ? 7 : 1;
      for (int group = 0; group < args.num_groups; ++group) {
        const std::int64_t rows = args.row_offsets[group + 1] - args.row_offsets[group];
        for (std::int64_t row = 0; row < rows; row += step) {
          for (std::int64_t column = row % step; column < args.columns; column += step) {
            ASSERT_EQ(output[static_cast<std::size_t>(
                          (args.row_offsets[group] + row) * args.columns + column)],
                      static_cast<float>(element(args, group, row, column)));
          }
        }
      }
      for (auto i = static_cast<std::size_t>(args.row_offsets[args.num_groups] * args.columns);
           i < output.size(); ++i) {
        ASSERT_EQ(output[i], 7.0F) << "a row behind the last group was written";
      }
    }
  }
}

TEST(MGroupedTwin, RoundsOnce) {
  const Problem problem{.name = "", .splits = {5, 0, 2}, .columns = 16, .reduction = 272};
  const Operands operands(problem, Values::Random, Fp8Format::E4m3);
  kernels::MGroupedBlockArgs args = operands.args(problem, Fp8Format::E4m3);
  const auto elements = static_cast<std::int64_t>(output_elements(operands, problem));
  std::vector<float> wide(static_cast<std::size_t>(elements));
  args.output = wide.data();
  args.type = kernels::InputType::Fp32;
  kernels::m_grouped_block_cpu(args);
  for (const kernels::InputType type : {kernels::InputType::Bf16, kernels::InputType::Fp16}) {
    std::vector<std::uint16_t> narrow(wide.size());
    args.output = narrow.data();
    args.type = type;
    kernels::m_grouped_block_cpu(args);
    std::vector<std::uint16_t> rounded(wide.size());
    kernels::round_run(wide.data(), elements, type, rounded.data(), 0);
    EXPECT_EQ(narrow, rounded);
  }
}

}  // namespace
}  // namespace m_grouped_tests

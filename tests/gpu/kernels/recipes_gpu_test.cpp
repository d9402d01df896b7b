// Kernels of every recipe against their CPU twins: raw codes, scales, amax and partial sums.
#include <bit>
#include <limits>
#include <tuple>

#include "kernels/activation/activate.h"
#include "kernels/amax/delayed_scaling.h"
#include "kernels/amax/group_amax.h"
#include "kernels/bias/bias.h"
#include "kernels/quantize/quantize_block.h"
#include "kernels/quantize/quantize_mxfp8.h"
#include "kernels/quantize/quantize_nvfp4.h"
#include "kernels/quantize/quantize_per_tensor.h"
#include "tests/gpu/kernels/twin_comparison.h"

namespace gpu_tests {
namespace {

using kernels::Fp8Format;
using kernels::InputType;
using quantize_tests::grouped_cases;
using quantize_tests::GroupedCase;

class RecipesGpu : public DeviceTest, public testing::WithParamInterface<GroupedCase> {};

const std::vector<std::uint32_t> kTickets = {0, 0};

TEST_P(RecipesGpu, Block) {
  for (const RecipeVariant& variant : recipe_variants()) {
    for (const bool square : {false, true}) {
      SCOPED_TRACE(variant.name() + (square ? " square" : ""));
      TwinArrays arrays;
      const TwinOperand operand(arrays, GetParam(), variant.type, variant.fill, variant.applied,
                                variant.padded);
      const std::int64_t rows = operand.out_capacity();
      const int groups = operand.num_groups();
      const std::int64_t k = operand.columns();
      const int codes = arrays.output(rows * k);
      const int columns = arrays.output(rows * k);
      const std::int64_t row_scales = square ? kernels::block_square_scale_capacity(rows, groups, k)
                                             : kernels::block_line_scale_capacity(rows, groups, k);
      const std::int64_t column_scales =
          square ? kernels::block_square_columnwise_scale_capacity(rows, groups, k)
                 : kernels::block_line_columnwise_scale_capacity(rows, groups, k);
      const int row_scale = arrays.output(4 * row_scales);
      const int row_amax = arrays.output(4 * row_scales);
      const int column_scale = arrays.output(4 * column_scales);
      const int column_amax = arrays.output(4 * column_scales);
      const int bias = arrays.float_output(kernels::bias_partial_capacity(rows, groups, k));
      const int tickets = arrays.state(kTickets);
      const auto args = [&](bool device) {
        kernels::QuantizeBlockArgs a{.input = operand.input(device),
                                     .output_rows = operand.output_rows(device),
                                     .format = variant.padded ? Fp8Format::E5m2 : Fp8Format::E4m3,
                                     .options = {.pow2 = variant.columnwise,
                                                 .amax_epsilon = variant.rowwise ? 0.0F : 0.25F}};
        if (variant.rowwise) {
          a.rowwise = {arrays.at<std::uint8_t>(codes, device), arrays.at<float>(row_scale, device),
                       arrays.at<float>(row_amax, device)};
        }
        if (variant.columnwise) {
          a.columnwise = {arrays.at<std::uint8_t>(columns, device),
                          arrays.at<float>(column_scale, device),
                          arrays.at<float>(column_amax, device)};
          a.bias_partials = variant.rowwise ? arrays.at<float>(bias, device) : nullptr;
        }
        if (variant.tickets) a.controls.tickets = arrays.at<std::uint32_t>(tickets, device);
        return a;
      };
      (square ? kernels::quantize_block_squares_cpu
              : kernels::quantize_block_lines_cpu)(args(false));
      ASSERT_EQ((square ? kernels::quantize_block_squares : kernels::quantize_block_lines)(
                    args(true), nullptr),
                cudaSuccess);
      arrays.expect_equal();
      if (HasFailure()) return;
    }
  }
}

TEST_P(RecipesGpu, PerTensor) {
  for (const RecipeVariant& variant : recipe_variants()) {
    SCOPED_TRACE(variant.name());
    TwinArrays arrays;
    const TwinOperand operand(arrays, GetParam(), variant.type, variant.fill, variant.applied,
                              variant.padded);
    const auto groups = static_cast<std::size_t>(operand.num_groups());
    const std::int64_t elements = operand.out_capacity() * operand.columns();
    std::vector<float> scales(groups);
    for (std::size_t g = 0; g < groups; ++g) scales[g] = 0.37F * static_cast<float>(g % 7 + 1);
    const int scale = arrays.input(scales);
    const int codes = arrays.output(elements);
    const int columns = arrays.output(elements);
    const int amax = arrays.state(std::vector<float>(groups, 0.5F));
    const int scale_inv = arrays.output(4 * static_cast<std::int64_t>(groups));
    const int bias = arrays.float_output(kernels::bias_partial_capacity(
        operand.out_capacity(), operand.num_groups(), operand.columns()));
    const int tickets = arrays.state(kTickets);
    const auto args = [&](bool device) {
      kernels::QuantizePerTensorArgs a{.input = operand.input(device),
                                       .output_rows = operand.output_rows(device),
                                       .format = variant.padded ? Fp8Format::E5m2 : Fp8Format::E4m3,
                                       .scale = arrays.at<float>(scale, device)};
      if (variant.rowwise) a.rowwise = arrays.at<std::uint8_t>(codes, device);
      if (variant.columnwise) a.columnwise = arrays.at<std::uint8_t>(columns, device);
      if (variant.rowwise && variant.columnwise) a.bias_partials = arrays.at<float>(bias, device);
      if (variant.fill == quantize_tests::Fill::Mild) {
        a.amax = arrays.at<float>(amax, device);
        a.scale_inv = arrays.at<float>(scale_inv, device);
      }
      if (variant.tickets) a.controls.tickets = arrays.at<std::uint32_t>(tickets, device);
      return a;
    };
    kernels::quantize_per_tensor_cpu(args(false));
    ASSERT_EQ(kernels::quantize_per_tensor(args(true), nullptr), cudaSuccess);
    arrays.expect_equal();
    if (HasFailure()) return;
  }
}

TEST_P(RecipesGpu, Mxfp8) {
  for (const RecipeVariant& variant : recipe_variants()) {
    for (const int mode : {0, 1, 2, 3}) {
      const bool square = (mode & 1) != 0;
      const bool swizzled = (mode & 2) != 0;
      SCOPED_TRACE(variant.name() + (square ? " square" : "") + (swizzled ? " swizzled" : ""));
      TwinArrays arrays;
      const TwinOperand operand(arrays, GetParam(), variant.type, variant.fill, variant.applied,
                                variant.padded);
      const std::int64_t rows = operand.out_capacity();
      const int groups = operand.num_groups();
      const std::int64_t k = operand.columns();
      const int codes = arrays.output(rows * k);
      const int columns = arrays.output(rows * k);
      const int row_scales =
          arrays.output(kernels::micro_rowwise_scale_capacity(rows, groups, k, 32));
      const int column_scales =
          arrays.output(kernels::micro_columnwise_scale_capacity(rows, groups, k, 32));
      const int bias = arrays.float_output(kernels::bias_partial_capacity(rows, groups, k));
      const int tickets = arrays.state(kTickets);
      const auto args = [&](bool device) {
        kernels::QuantizeMxfp8Args a{.input = operand.input(device),
                                     .output_rows = operand.output_rows(device),
                                     .format = variant.padded ? Fp8Format::E5m2 : Fp8Format::E4m3,
                                     .square_blocks = square,
                                     .layout = swizzled ? kernels::MicroScaleLayout::Swizzled
                                                        : kernels::MicroScaleLayout::Compact};
        if (variant.rowwise) {
          a.rowwise = {arrays.at<std::uint8_t>(codes, device),
                       arrays.at<std::uint8_t>(row_scales, device)};
        }
        if (variant.columnwise) {
          a.columnwise = {arrays.at<std::uint8_t>(columns, device),
                          arrays.at<std::uint8_t>(column_scales, device)};
        }
        if (!swizzled) a.bias_partials = arrays.at<float>(bias, device);
        if (variant.tickets) a.controls.tickets = arrays.at<std::uint32_t>(tickets, device);
        return a;
      };
      kernels::quantize_mxfp8_cpu(args(false));
      ASSERT_EQ(kernels::quantize_mxfp8(args(true), nullptr), cudaSuccess);
      arrays.expect_equal();
      if (HasFailure()) return;
    }
  }
}

TEST_P(RecipesGpu, Nvfp4) {
  for (const RecipeVariant& variant : recipe_variants(/*with_activations=*/false)) {
    for (const int mode : {0, 1, 2, 3, 4}) {
      const bool square = mode == 1;
      const bool swizzled = mode == 2;
      const bool hadamard = mode >= 3;
      const bool stochastic = mode == 2 || mode == 4;
      SCOPED_TRACE(variant.name() + " mode " + std::to_string(mode));
      TwinArrays arrays;
      const TwinOperand operand(arrays, GetParam(), variant.type, variant.fill, {}, variant.padded);
      const std::int64_t rows = operand.out_capacity();
      const int groups = operand.num_groups();
      const std::int64_t k = operand.columns();
      const int row_amax = arrays.output(4 * groups);
      const int column_amax = arrays.output(4 * groups);
      const int codes = arrays.output(rows * k / 2);
      const int columns = arrays.output(kernels::nvfp4_columnwise_code_capacity(rows, groups, k));
      const int row_scales =
          arrays.output(kernels::micro_rowwise_scale_capacity(rows, groups, k, 16));
      const int column_scales =
          arrays.output(kernels::micro_columnwise_scale_capacity(rows, groups, k, 16));
      const int state = arrays.input(std::vector<std::uint64_t>{0x123456789ABCDEFULL, 42});
      const int tickets = arrays.state(kTickets);
      const auto amax_args = [&](bool device) {
        return kernels::Nvfp4AmaxArgs{.input = operand.input(device),
                                      .hadamard = hadamard,
                                      .rowwise_amax = arrays.at<float>(row_amax, device),
                                      .columnwise_amax = arrays.at<float>(column_amax, device)};
      };
      const auto args = [&](bool device) {
        kernels::QuantizeNvfp4Args a{.input = operand.input(device),
                                     .output_rows = operand.output_rows(device),
                                     .square_blocks = square,
                                     .hadamard = hadamard,
                                     .stochastic_rounding = stochastic,
                                     .random_state = arrays.at<std::uint64_t>(state, device),
                                     .layout = swizzled ? kernels::MicroScaleLayout::Swizzled
                                                        : kernels::MicroScaleLayout::Compact};
        if (variant.rowwise) {
          a.rowwise = {arrays.at<std::uint8_t>(codes, device),
                       arrays.at<std::uint8_t>(row_scales, device),
                       arrays.at<float>(row_amax, device)};
        }
        if (variant.columnwise) {
          a.columnwise = {arrays.at<std::uint8_t>(columns, device),
                          arrays.at<std::uint8_t>(column_scales, device),
                          arrays.at<float>(column_amax, device)};
        }
        if (variant.tickets) a.controls.tickets = arrays.at<std::uint32_t>(tickets, device);
        return a;
      };
      kernels::nvfp4_amax_cpu(amax_args(false));
      kernels::quantize_nvfp4_cpu(args(false));
      ASSERT_EQ(kernels::nvfp4_amax(amax_args(true), nullptr), cudaSuccess);
      ASSERT_EQ(kernels::quantize_nvfp4(args(true), nullptr), cudaSuccess);
      arrays.expect_equal();
      if (HasFailure()) return;
    }
  }
}

TEST_P(RecipesGpu, BiasActivationAmax) {
  for (const RecipeVariant& variant : recipe_variants()) {
    if (variant.padded) continue;
    SCOPED_TRACE(variant.name());
    TwinArrays arrays;
    const TwinOperand operand(arrays, GetParam(), variant.type, variant.fill, variant.applied,
                              false);
    const std::int64_t rows = operand.out_capacity();
    const int groups = operand.num_groups();
    const std::int64_t k = operand.columns();
    const int partials = arrays.float_output(kernels::bias_partial_capacity(rows, groups, k));
    const int amax = arrays.output(4 * groups);
    const int gradient = variant.type == InputType::Fp32 ? arrays.float_output(groups * k)
                                                         : arrays.output(2 * groups * k, 0x11);
    const int activated = arrays.output(4 * rows * k);
    const bool accumulate = variant.columnwise;
    const auto run = [&](bool device) {
      const kernels::BiasPartialsArgs sums{operand.input(device),
                                           arrays.at<float>(partials, device)};
      const kernels::ReduceBiasGradientArgs reduce{.partials = sums.partials,
                                                   .row_offsets = sums.input.row_offsets,
                                                   .num_groups = groups,
                                                   .columns = k,
                                                   .output_type = variant.type,
                                                   .gradient = arrays.at<void*>(gradient, device),
                                                   .accumulate = accumulate};
      const kernels::GroupAmaxArgs largest{operand.input(device), arrays.at<float>(amax, device)};
      const kernels::ActivateArgs activate{operand.input(device),
                                           arrays.at<void*>(activated, device)};
      if (device) {
        ASSERT_EQ(kernels::bias_partials(sums, nullptr), cudaSuccess);
        ASSERT_EQ(kernels::reduce_bias_gradient(reduce, nullptr), cudaSuccess);
        ASSERT_EQ(kernels::group_amax(largest, nullptr), cudaSuccess);
        if (!variant.applied.activation.is_none()) {
          ASSERT_EQ(kernels::activate(activate, nullptr), cudaSuccess);
        }
      } else {
        kernels::bias_partials_cpu(sums);
        kernels::reduce_bias_gradient_cpu(reduce);
        kernels::group_amax_cpu(largest);
        if (!variant.applied.activation.is_none()) kernels::activate_cpu(activate);
      }
    };
    run(false);
    run(true);
    arrays.expect_equal();
    if (HasFailure()) return;
  }
}

TEST_F(DeviceTest, DelayedScalingUpdate) {
  for (const int length : {1, 2, 5, 256, 257, 258, 600, 1024}) {
    for (const int groups : {1, 8, 65, 1024}) {
      for (const auto algorithm :
           {kernels::AmaxAlgorithm::MostRecent, kernels::AmaxAlgorithm::Max}) {
        TwinArrays arrays;
        std::vector<float> history(static_cast<std::size_t>(length * groups));
        for (std::size_t i = 0; i < history.size(); ++i) {
          history[i] = i % 11 == 3 ? 0.0F : static_cast<float>((i * 7919) % 1000) * 0.013F;
          if (i % 97 == 6) history[i] = std::numeric_limits<float>::infinity();
          if (i % 89 == 7) history[i] = std::numeric_limits<float>::quiet_NaN();
        }
        const int past = arrays.state(history);
        const int scale = arrays.state(std::vector<float>(static_cast<std::size_t>(groups), 2.5F));
        const int scale_inv = arrays.output(4 * groups);
        const auto args = [&](bool device) {
          return kernels::DelayedScalingUpdateArgs{
              .history = arrays.at<float>(past, device),
              .length = length,
              .num_groups = groups,
              .algorithm = algorithm,
              .margin = length % 3,
              .pow2 = length == 5,
              .scale = arrays.at<float>(scale, device),
              .scale_inv = arrays.at<float>(scale_inv, device)};
        };
        for (int step = 0; step < 3; ++step) {
          kernels::delayed_scaling_update_cpu(args(false));
          ASSERT_EQ(kernels::delayed_scaling_update(args(true), nullptr), cudaSuccess);
        }
        arrays.expect_equal();
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, RecipesGpu, testing::ValuesIn(grouped_cases()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace gpu_tests

// Permutation on the device against its twins, bit for bit; a captured map and permutation that
// follow the routing at replay; and quantizing through the map.
#include "kernels/permute/permute.h"

#include "kernels/amax/group_amax.h"
#include "kernels/permute/routing_map.h"
#include "kernels/quantize/quantize_routed.h"
#include "tests/gpu/kernels/captured_launch.h"
#include "tests/gpu/kernels/twin_comparison.h"
#include "tests/numerics/quantize/block_outputs.h"
#include "tests/numerics/quantize/routing_cases.h"

namespace gpu_tests::permutation {
namespace {

using kernels::InputType;
using quantize_tests::Fill;
using quantize_tests::RoutingCase;

constexpr InputType kTypes[] = {InputType::Bf16, InputType::Fp16, InputType::Fp32};

/// The arrays of a map on both sides.
class MapArrays {
 public:
  MapArrays(TwinArrays& arrays, const RoutingCase& routing, std::int64_t padding)
      : arrays_(arrays), routing_(routing), padding_(padding) {
    const std::int64_t copies = routing.tokens * routing.top_k;
    experts_ = arrays.input(quantize_tests::experts_of(routing));
    splits_ = arrays.output(8 * routing.num_groups);
    row_offsets_ = arrays.output(8 * (routing.num_groups + 1));
    padded_ = arrays.output(8 * (routing.num_groups + 1));
    row_tokens_ = arrays.output(4 * copies);
    copy_rows_ = arrays.output(4 * copies);
    counts_ = arrays.input(
        std::vector<std::int32_t>(static_cast<std::size_t>(kernels::routing_map_counts(
                                      routing.tokens, routing.top_k, routing.num_groups)),
                                  -1));
  }
  kernels::RoutingMapArgs args(bool device) const {
    return {
        .experts = arrays_.at<std::int32_t>(experts_, device),
        .tokens = routing_.tokens,
        .top_k = routing_.top_k,
        .num_groups = routing_.num_groups,
        .splits = arrays_.at<std::int64_t>(splits_, device),
        .row_offsets = arrays_.at<std::int64_t>(row_offsets_, device),
        .row_tokens = arrays_.at<std::int32_t>(row_tokens_, device),
        .copy_rows = arrays_.at<std::int32_t>(copy_rows_, device),
        .padded_row_offsets = padding_ > 0 ? arrays_.at<std::int64_t>(padded_, device) : nullptr,
        .padding = std::max<std::int64_t>(padding_, 1),
        .counts = arrays_.at<std::int32_t>(counts_, device)};
  }
  void make() const {
    kernels::routing_map_cpu(args(false));
    ASSERT_EQ(kernels::routing_map(args(true), nullptr), cudaSuccess);
  }
  kernels::PermutedRows rows(bool device) const {
    const kernels::RoutingMapArgs map = args(device);
    return {.copy_rows = map.copy_rows,
            .tokens = routing_.tokens,
            .top_k = routing_.top_k,
            .row_offsets = padding_ > 0 ? map.row_offsets : nullptr,
            .padded_row_offsets = map.padded_row_offsets,
            .num_groups = routing_.num_groups};
  }
  std::int64_t capacity() const {
    return kernels::permuted_capacity(routing_.tokens, routing_.top_k, routing_.num_groups,
                                      std::max<std::int64_t>(padding_, 1));
  }
  int experts() const { return experts_; }

 private:
  TwinArrays& arrays_;
  RoutingCase routing_;
  std::int64_t padding_;
  int experts_, splits_, row_offsets_, padded_, row_tokens_, copy_rows_, counts_;
};

std::vector<std::uint8_t> random_rows(std::int64_t rows, std::int64_t columns, InputType type,
                                      Fill fill, unsigned stream) {
  return quantize_tests::Operand({.name = "", .splits = {rows}, .columns = columns}, type, fill,
                                 stream)
      .bytes;
}

class PermuteGpu : public DeviceTest, public testing::WithParamInterface<RoutingCase> {};

TEST_P(PermuteGpu, TheMapEqualsItsTwin) {
  for (const std::int64_t padding : {0, 1, 16, 128}) {
    TwinArrays arrays;
    const MapArrays map(arrays, GetParam(), padding);
    for (int launch = 0; launch < 3; ++launch) {
      map.make();
      arrays.expect_equal();
    }
  }
}

TEST_P(PermuteGpu, PermuteUnpermuteAndTheirGradientsEqualTheirTwins) {
  const RoutingCase& routing = GetParam();
  for (const InputType type : kTypes) {
    for (const std::int64_t padding : {0, 16}) {
      SCOPED_TRACE("type " + std::to_string(static_cast<int>(type)) + " padding " +
                   std::to_string(padding));
      TwinArrays arrays;
      const MapArrays map(arrays, routing, padding);
      map.make();
      const std::int64_t columns = routing.columns;
      const std::int64_t row_bytes = columns * element_bytes(type);
      const int tokens = arrays.input(random_rows(routing.tokens, columns, type, Fill::Wild, 0));
      const int gradient = arrays.input(random_rows(routing.tokens, columns, type, Fill::Mild, 2));
      const int rows = arrays.input(random_rows(map.capacity(), columns, type, Fill::Mild, 1));
      const int probabilities = arrays.input(quantize_tests::probabilities_of(routing));
      const int permuted = arrays.output((map.capacity() + 1) * row_bytes);
      const int sum = arrays.output((routing.tokens + 1) * row_bytes);
      const int weighted = arrays.output((routing.tokens + 1) * row_bytes);
      const int of_rows = arrays.output((map.capacity() + 1) * row_bytes);
      const int of_rows_alone = arrays.output((map.capacity() + 1) * row_bytes);
      const int of_probabilities = arrays.float_output(routing.tokens * routing.top_k + 1);
      const auto permute = [&](bool device) {
        return kernels::PermuteArgs{.rows = map.rows(device),
                                    .type = type,
                                    .columns = columns,
                                    .input = arrays.at<void>(tokens, device),
                                    .output = arrays.at<void>(permuted, device)};
      };
      const auto unpermute = [&](bool device, bool with_probabilities) {
        return kernels::UnpermuteArgs{
            .rows = map.rows(device),
            .type = type,
            .columns = columns,
            .input = arrays.at<void>(rows, device),
            .probabilities = with_probabilities ? arrays.at<float>(probabilities, device) : nullptr,
            .output = arrays.at<void>(with_probabilities ? weighted : sum, device)};
      };
      const auto gradients = [&](bool device, bool dots) {
        return kernels::UnpermuteGradientArgs{
            .rows = map.rows(device),
            .type = type,
            .columns = columns,
            .gradient = arrays.at<void>(gradient, device),
            .probabilities = arrays.at<float>(probabilities, device),
            .permuted_gradient = arrays.at<void>(dots ? of_rows : of_rows_alone, device),
            .permuted = dots ? arrays.at<void>(rows, device) : nullptr,
            .probability_gradient = dots ? arrays.at<float>(of_probabilities, device) : nullptr};
      };
      kernels::permute_cpu(permute(false));
      ASSERT_EQ(kernels::permute(permute(true), nullptr), cudaSuccess);
      for (const bool choice : {false, true}) {
        kernels::unpermute_cpu(unpermute(false, choice));
        ASSERT_EQ(kernels::unpermute(unpermute(true, choice), nullptr), cudaSuccess);
        kernels::unpermute_gradient_cpu(gradients(false, choice));
        ASSERT_EQ(kernels::unpermute_gradient(gradients(true, choice), nullptr), cudaSuccess);
      }
      arrays.expect_equal();
      if (HasFailure()) return;
    }
  }
}

/// The outputs of a quantize kernel, both directions of any recipe.
struct QuantizedArrays {
  int codes, column_codes, scales, column_scales, amax, bias;
  QuantizedArrays(TwinArrays& arrays, std::int64_t rows, int groups, std::int64_t columns)
      : codes(arrays.output(rows * columns)),
        column_codes(arrays.output(rows * columns)),
        scales(arrays.output(4 * kernels::block_line_scale_capacity(rows, groups, columns) +
                             kernels::micro_rowwise_scale_capacity(rows, groups, columns, 32))),
        column_scales(
            arrays.output(4 * kernels::block_line_columnwise_scale_capacity(rows, groups, columns) +
                          kernels::micro_columnwise_scale_capacity(rows, groups, columns, 32))),
        amax(arrays.state(std::vector<float>(static_cast<std::size_t>(groups), 0.0F))),
        bias(arrays.float_output(kernels::bias_partial_capacity(rows, groups, columns))) {}
};

TEST_P(PermuteGpu, QuantizingThroughTheMapEqualsItsTwin) {
  const RoutingCase& routing = GetParam();
  const int groups = routing.num_groups;
  const std::int64_t columns = routing.columns;
  for (const InputType type : kTypes) {
    for (const int way : {1, 2, 3}) {
      const bool padded = way == 2;
      const bool rowwise = (way & 1) != 0;
      const bool columnwise = way != 1;
      const auto format = way == 3 ? kernels::Fp8Format::E5m2 : kernels::Fp8Format::E4m3;
      SCOPED_TRACE("type " + std::to_string(static_cast<int>(type)) + " way " +
                   std::to_string(way));
      TwinArrays arrays;
      const MapArrays map(arrays, routing, 32);
      map.make();
      const std::int64_t capacity = std::max<std::int64_t>(routing.tokens * routing.top_k, 1);
      const std::int64_t out = map.capacity();
      const int tokens = arrays.input(random_rows(routing.tokens, columns, type, Fill::Wild, 0));
      std::vector<float> scale_values(static_cast<std::size_t>(groups));
      for (std::size_t g = 0; g < scale_values.size(); ++g) {
        scale_values[g] = 1.5F + static_cast<float>(g);
      }
      const int scale = arrays.input(scale_values);
      const QuantizedArrays of_block(arrays, out, groups, columns);
      const QuantizedArrays of_tensor(arrays, out, groups, columns);
      const QuantizedArrays of_mx(arrays, out, groups, columns);
      const int amax = arrays.output(4 * groups);
      for (const bool device : {false, true}) {
        const kernels::RoutingMapArgs made = map.args(device);
        const kernels::GroupedInput input{.input = arrays.at<void>(tokens, device),
                                          .type = type,
                                          .row_offsets = made.row_offsets,
                                          .num_groups = groups,
                                          .capacity_rows = capacity,
                                          .columns = columns};
        const kernels::OutputRows output_rows =
            padded ? kernels::OutputRows{made.padded_row_offsets, out} : kernels::OutputRows{};
        const auto bytes = [&](int array) { return arrays.at<std::uint8_t>(array, device); };
        const auto floats = [&](int array) { return arrays.at<float>(array, device); };
        const kernels::QuantizeBlockArgs block{
            .input = input,
            .output_rows = output_rows,
            .format = format,
            .rowwise = {.codes = rowwise ? bytes(of_block.codes) : nullptr,
                        .scale_inv = floats(of_block.scales)},
            .columnwise = {.codes = columnwise ? bytes(of_block.column_codes) : nullptr,
                           .scale_inv = floats(of_block.column_scales)},
            .bias_partials = padded ? floats(of_block.bias) : nullptr};
        const kernels::QuantizePerTensorArgs tensor{
            .input = input,
            .output_rows = output_rows,
            .format = format,
            .scale = floats(scale),
            .rowwise = rowwise ? bytes(of_tensor.codes) : nullptr,
            .columnwise = columnwise ? bytes(of_tensor.column_codes) : nullptr,
            .amax = floats(of_tensor.amax),
            .scale_inv = floats(of_tensor.scales)};
        const kernels::QuantizeMxfp8Args mx{
            .input = input,
            .output_rows = output_rows,
            .format = format,
            .layout =
                padded ? kernels::MicroScaleLayout::Swizzled : kernels::MicroScaleLayout::Compact,
            .rowwise = {rowwise ? bytes(of_mx.codes) : nullptr, bytes(of_mx.scales)},
            .columnwise = {columnwise ? bytes(of_mx.column_codes) : nullptr,
                           bytes(of_mx.column_scales)}};
        const kernels::RoutedAmaxArgs largest{.input = input, .amax = floats(amax)};
        if (device) {
          ASSERT_EQ(kernels::quantize_block_lines_routed(block, made.row_tokens, nullptr),
                    cudaSuccess);
          ASSERT_EQ(kernels::quantize_per_tensor_routed(tensor, made.row_tokens, nullptr),
                    cudaSuccess);
          ASSERT_EQ(kernels::quantize_mxfp8_routed(mx, made.row_tokens, nullptr), cudaSuccess);
          ASSERT_EQ(kernels::routed_amax(largest, made.row_tokens, nullptr), cudaSuccess);
        } else {
          kernels::quantize_block_lines_routed_cpu(block, made.row_tokens);
          kernels::quantize_per_tensor_routed_cpu(tensor, made.row_tokens);
          kernels::quantize_mxfp8_routed_cpu(mx, made.row_tokens);
          kernels::routed_amax_cpu(largest, made.row_tokens);
        }
      }
      arrays.expect_equal();
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, PermuteGpu, testing::ValuesIn(quantize_tests::routing_cases()),
                         [](const auto& tested) { return tested.param.name; });

class CapturedPermutation : public DeviceTest {};

TEST_F(CapturedPermutation, FollowsTheRoutingAtReplay) {
  const RoutingCase first{
      .name = "", .tokens = 900, .top_k = 4, .num_groups = 16, .dropped = 1, .columns = 272};
  TwinArrays arrays;
  const MapArrays map(arrays, first, 16);
  const std::int64_t row_bytes = first.columns * 2;
  const int tokens =
      arrays.input(random_rows(first.tokens, first.columns, InputType::Bf16, Fill::Wild, 0));
  const int permuted = arrays.output((map.capacity() + 1) * row_bytes);
  const auto permute = [&](bool device) {
    return kernels::PermuteArgs{.rows = map.rows(device),
                                .type = InputType::Bf16,
                                .columns = first.columns,
                                .input = arrays.at<void>(tokens, device),
                                .output = arrays.at<void>(permuted, device)};
  };
  const CapturedLaunch captured([&](cudaStream_t stream) {
    const cudaError_t mapped = kernels::routing_map(map.args(true), stream);
    return mapped == cudaSuccess ? kernels::permute(permute(true), stream) : mapped;
  });
  for (const int busy : {0, 12, 3, 0}) {
    RoutingCase now = first;
    now.busy = busy;
    const std::vector<std::int32_t> experts = quantize_tests::experts_of(now);
    for (const bool device : {false, true}) {
      ASSERT_EQ(cudaMemcpy(arrays.at<void>(map.experts(), device), experts.data(),
                           4 * experts.size(), cudaMemcpyDefault),
                cudaSuccess);
    }
    // Rows that no copy has keep what an earlier replay left, on both sides alike.
    kernels::routing_map_cpu(map.args(false));
    kernels::permute_cpu(permute(false));
    captured.replay();
    captured.wait();
    arrays.expect_equal();
  }
}

TEST_F(CapturedPermutation, RefusesWhatItCannotAddress) {
  kernels::RoutingMapArgs map{.tokens = 1, .top_k = 1, .num_groups = 1025};
  EXPECT_EQ(kernels::routing_map(map, nullptr), cudaErrorInvalidValue);
  map.num_groups = 8;
  map.top_k = 0;
  EXPECT_EQ(kernels::routing_map(map, nullptr), cudaErrorInvalidValue);
  map.top_k = 8;
  map.tokens = std::int64_t{1} << 28;
  EXPECT_EQ(kernels::routing_map(map, nullptr), cudaErrorInvalidValue);
  kernels::PermuteArgs permute{.rows = {}, .columns = 12};
  EXPECT_EQ(kernels::permute(permute, nullptr), cudaErrorInvalidValue);
  permute.columns = 16;
  permute.output = reinterpret_cast<void*>(8);
  EXPECT_EQ(kernels::permute(permute, nullptr), cudaErrorMisalignedAddress);
  kernels::UnpermuteGradientArgs gradient{.rows = {}, .columns = 16};
  EXPECT_EQ(kernels::unpermute_gradient(gradient, nullptr), cudaErrorInvalidValue)
      << "without probabilities";
  const std::int32_t* const no_map = nullptr;
  kernels::QuantizeBlockArgs block{.input = {.num_groups = 1, .columns = 32}};
  block.input.activation = kernels::kSwiglu;
  EXPECT_EQ(kernels::quantize_block_lines_routed(block, no_map, nullptr), cudaErrorNotSupported);
  const std::int64_t offsets[2] = {0, 1};
  block.input = {.input = reinterpret_cast<const void*>(16),
                 .row_offsets = offsets,
                 .num_groups = 1,
                 .capacity_rows = 1,
                 .columns = 32};
  EXPECT_EQ(kernels::quantize_block_lines_routed(block, no_map, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace gpu_tests::permutation

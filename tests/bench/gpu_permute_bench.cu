// Time of the permutation kernels, of quantizing through the map beside permuting first, and of
// widening scales, each beside a device copy that moves the same bytes, interleaved in one run.
//   gpu_permute_bench [ROUNDS]
#include <random>

#include "kernels/dequantize/widen_scales.h"
#include "kernels/permute/permute.h"
#include "kernels/permute/routing_map.h"
#include "kernels/quantize/quantize_routed.h"
#include "tests/bench/race.h"

namespace {

using bench::check;
using namespace kernels;

/// Rows of a group, so that every column of transposed codes begins at a multiple of 16 bytes.
constexpr std::int64_t kPadding = 16;

struct Shape {
  std::int64_t tokens;
  int top_k;
  int groups;
  std::int64_t columns;
};

void run(const Shape& shape, int rounds) {
  bench::DeviceMemory memory;
  const std::int64_t copies = shape.tokens * shape.top_k;
  const std::int64_t columns = shape.columns;
  std::printf("%lld tokens, top %d of %d experts, %lld columns\n",
              static_cast<long long>(shape.tokens), shape.top_k, shape.groups,
              static_cast<long long>(columns));
  std::mt19937 random(1);
  std::vector<std::int32_t> experts(static_cast<std::size_t>(copies));
  for (std::int32_t& expert : experts) {
    expert = static_cast<std::int32_t>(random() % static_cast<unsigned>(shape.groups));
  }
  auto* const tokens = memory.zeros<std::uint16_t>(shape.tokens * columns);
  auto* const sums = memory.zeros<std::uint16_t>(shape.tokens * columns);
  auto* const rows = memory.zeros<std::uint16_t>(copies * columns);
  auto* const row_gradients = memory.zeros<std::uint16_t>(copies * columns);
  auto* const spare = memory.zeros<std::uint16_t>(4 * copies * columns);
  auto* const probabilities = memory.zeros<float>(copies);
  auto* const dots = memory.zeros<float>(copies);
  const std::int64_t padded = permuted_capacity(shape.tokens, shape.top_k, shape.groups, kPadding);
  auto* const codes = memory.zeros<std::uint8_t>(padded * columns);
  auto* const transposed = memory.zeros<std::uint8_t>(padded * columns);
  auto* const scales =
      memory.zeros<float>(block_line_scale_capacity(padded, shape.groups, columns));
  auto* const column_scales =
      memory.zeros<float>(block_line_columnwise_scale_capacity(padded, shape.groups, columns));
  auto* const bytes = memory.zeros<std::uint8_t>(
      micro_rowwise_scale_capacity(copies, shape.groups, columns, kMxBlock));
  auto* const column_bytes = memory.zeros<std::uint8_t>(
      micro_columnwise_scale_capacity(copies, shape.groups, columns, kMxBlock));
  auto* const refused = memory.zeros<RefusedScales>(1);
  const RoutingMapArgs map{.experts = memory.copy_of(experts),
                           .tokens = shape.tokens,
                           .top_k = shape.top_k,
                           .num_groups = shape.groups,
                           .row_offsets = memory.zeros<std::int64_t>(shape.groups + 1),
                           .row_tokens = memory.zeros<std::int32_t>(copies),
                           .copy_rows = memory.zeros<std::int32_t>(copies),
                           .counts = memory.zeros<std::int32_t>(
                               routing_map_counts(shape.tokens, shape.top_k, shape.groups))};
  check(routing_map(map, nullptr));
  RoutingMapArgs padded_map = map;  // its copy_rows count the padded rows
  padded_map.copy_rows = memory.zeros<std::int32_t>(copies);
  padded_map.padded_row_offsets = memory.zeros<std::int64_t>(shape.groups + 1);
  padded_map.padding = kPadding;
  check(routing_map(padded_map, nullptr));
  const PermutedRows permuted{
      .copy_rows = map.copy_rows, .tokens = shape.tokens, .top_k = shape.top_k};
  const PermuteArgs permute_args{
      .rows = permuted, .columns = columns, .input = tokens, .output = rows};
  UnpermuteArgs unpermute_args{.rows = permuted,
                               .columns = columns,
                               .input = rows,
                               .probabilities = probabilities,
                               .output = sums};
  const UnpermuteGradientArgs gradient_args{.rows = permuted,
                                            .columns = columns,
                                            .gradient = tokens,
                                            .probabilities = probabilities,
                                            .permuted_gradient = row_gradients,
                                            .permuted = rows,
                                            .probability_gradient = dots};
  GroupedInput input{.input = rows,
                     .row_offsets = map.row_offsets,
                     .num_groups = shape.groups,
                     .capacity_rows = copies,
                     .columns = columns};
  const QuantizeBlockArgs plain{.input = input,
                                .options = {.pow2 = true},
                                .rowwise = {.codes = codes, .scale_inv = scales},
                                .columnwise = {.codes = transposed, .scale_inv = column_scales}};
  QuantizeBlockArgs routed = plain;
  routed.input.input = tokens;
  QuantizeBlockArgs routed_padded = routed;
  routed_padded.output_rows = {.row_offsets = padded_map.padded_row_offsets,
                               .capacity_rows = padded};
  const QuantizeMxfp8Args mx{
      .input = routed.input, .rowwise = {codes, bytes}, .columnwise = {transposed, column_bytes}};
  const WidenScalesArgs widen{.quantized = {.layout = ScaleLayout::BlockLine,
                                            .scales = scales,
                                            .row_offsets = map.row_offsets,
                                            .num_groups = shape.groups,
                                            .capacity_rows = copies,
                                            .columns = columns},
                              .layout = MicroScaleLayout::Swizzled,
                              .scales = bytes,
                              .refused = refused};
  const auto one = static_cast<double>(shape.tokens * columns);
  const auto all = static_cast<double>(copies * columns);
  check(quantize_block_lines(plain, nullptr));
  bench::race(
      {{"map", 0, [&] { check(routing_map(map, nullptr)); }},
       {"permute", 2 * (one + all), [&] { check(permute(permute_args, nullptr)); }},
       {"unpermute", 2 * (one + all), [&] { check(unpermute(unpermute_args, nullptr)); }},
       {"unpermute, gradients", 2 * one + 4 * all,
        [&] { check(unpermute_gradient(gradient_args, nullptr)); }},
       {"permute, then 1x128 both", 2 * one + 6 * all,
        [&] {
          check(permute(permute_args, nullptr));
          check(quantize_block_lines(plain, nullptr));
        }},
       {"1x128 both of permuted rows", 4 * all,
        [&] { check(quantize_block_lines(plain, nullptr)); }},
       {"1x128 both through the map, padded groups", 2 * one + 2 * all,
        [&] { check(quantize_block_lines_routed(routed_padded, map.row_tokens, nullptr)); }},
       {"1x128 both through the map", 2 * one + 2 * all,
        [&] { check(quantize_block_lines_routed(routed, map.row_tokens, nullptr)); }},
       {"MXFP8 both through the map", 2 * one + 2 * all,
        [&] { check(quantize_mxfp8_routed(mx, map.row_tokens, nullptr)); }},
       {"1x128 scales widened", all / 128 * 4 + all / 32,
        [&] { check(widen_scales(widen, nullptr)); }}},
      spare, spare + 2 * copies * columns, rounds);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 25;
  for (const Shape& shape : {Shape{4096, 8, 32, 7168}, Shape{8192, 2, 8, 4096},
                             Shape{8192, 8, 128, 2048}, Shape{24576, 4, 128, 2880}}) {
    run(shape, rounds);
  }
  return 0;
}

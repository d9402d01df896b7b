// Time of the permutation kernels, of quantizing through the map beside permuting first, and of
// widening scales, each beside a device copy that moves the same bytes, interleaved in one run.
//   gpu_permute_bench [ROUNDS]
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "kernels/dequantize/widen_scales.h"
#include "kernels/permute/permute.h"
#include "kernels/permute/routing_map.h"
#include "kernels/quantize/quantize_routed.h"

namespace {

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(status));
  std::exit(2);
}

template <class Value = std::uint8_t>
Value* allocated(std::int64_t count) {
  Value* memory = nullptr;
  check(cudaMalloc(&memory, static_cast<std::size_t>(count) * sizeof(Value)));
  check(cudaMemset(memory, 0, static_cast<std::size_t>(count) * sizeof(Value)));
  return memory;
}

struct Contender {
  std::string name;
  double bytes = 0;  // read and written; 0 = only its time is shown
  std::function<void()> launch;
};

/// Every contender and a copy of as many bytes take turns.
void race(const std::vector<Contender>& contenders, const void* from, void* to, int rounds) {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  const auto time_us = [&](const std::function<void()>& launch) {
    check(cudaEventRecord(begin));
    launch();
    check(cudaEventRecord(end));
    check(cudaEventSynchronize(end));
    float milliseconds = 0.0F;
    check(cudaEventElapsedTime(&milliseconds, begin, end));
    return 1000.0F * milliseconds;
  };
  std::vector<std::vector<float>> times(contenders.size());
  std::vector<std::vector<float>> copies(contenders.size());
  for (int round = -3; round < rounds; ++round) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      const auto half = static_cast<std::size_t>(contenders[i].bytes / 2);
      const float copy =
          time_us([&] { check(cudaMemcpyAsync(to, from, half, cudaMemcpyDeviceToDevice)); });
      const float own = time_us(contenders[i].launch);
      if (round < 0) continue;
      copies[i].push_back(copy);
      times[i].push_back(own);
    }
  }
  const auto median = [](std::vector<float> values) {
    std::sort(values.begin(), values.end());
    return static_cast<double>(values[values.size() / 2]);
  };
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const double own = median(times[i]);
    std::printf("  %-44s %9.1f us", contenders[i].name.c_str(), own);
    if (contenders[i].bytes > 0) std::printf("  %.2f of a copy", median(copies[i]) / own);
    std::printf("\n");
  }
  check(cudaEventDestroy(begin));
  check(cudaEventDestroy(end));
}

struct Shape {
  std::int64_t tokens;
  int top_k;
  int groups;
  std::int64_t columns;
};

void bench(const Shape& shape, int rounds) {
  using namespace kernels;
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
  auto* const device_experts = allocated<std::int32_t>(copies);
  check(cudaMemcpy(device_experts, experts.data(), 4 * experts.size(), cudaMemcpyHostToDevice));
  auto* const tokens = allocated<std::uint16_t>(shape.tokens * columns);
  auto* const sums = allocated<std::uint16_t>(shape.tokens * columns);
  auto* const rows = allocated<std::uint16_t>(copies * columns);
  auto* const row_gradients = allocated<std::uint16_t>(copies * columns);
  auto* const spare = allocated<std::uint16_t>(4 * copies * columns);
  auto* const probabilities = allocated<float>(copies);
  auto* const dots = allocated<float>(copies);
  auto* const codes = allocated(copies * columns);
  auto* const transposed = allocated(copies * columns);
  auto* const scales = allocated<float>(block_line_scale_capacity(copies, shape.groups, columns));
  auto* const column_scales =
      allocated<float>(block_line_columnwise_scale_capacity(copies, shape.groups, columns));
  auto* const bytes =
      allocated(micro_rowwise_scale_capacity(copies, shape.groups, columns, kMxBlock));
  auto* const column_bytes =
      allocated(micro_columnwise_scale_capacity(copies, shape.groups, columns, kMxBlock));
  auto* const refused = allocated<RefusedScales>(1);
  const RoutingMapArgs map{.experts = device_experts,
                           .tokens = shape.tokens,
                           .top_k = shape.top_k,
                           .num_groups = shape.groups,
                           .row_offsets = allocated<std::int64_t>(shape.groups + 1),
                           .row_tokens = allocated<std::int32_t>(copies),
                           .copy_rows = allocated<std::int32_t>(copies),
                           .counts = allocated<std::int32_t>(
                               routing_map_counts(shape.tokens, shape.top_k, shape.groups))};
  check(routing_map(map, nullptr));
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
  race({{"map", 0, [&] { check(routing_map(map, nullptr)); }},
        {"permute", 2 * (one + all), [&] { check(permute(permute_args, nullptr)); }},
        {"un-permute", 2 * (one + all), [&] { check(unpermute(unpermute_args, nullptr)); }},
        {"un-permute, gradients", 2 * one + 4 * all,
         [&] { check(unpermute_gradient(gradient_args, nullptr)); }},
        {"permute, then 1x128 both", 2 * one + 6 * all,
         [&] {
           check(permute(permute_args, nullptr));
           check(quantize_block_lines(plain, nullptr));
         }},
        {"1x128 both through the map", 2 * one + 2 * all,
         [&] { check(quantize_block_lines_routed(routed, map.row_tokens, nullptr)); }},
        {"MXFP8 both through the map", 2 * one + 2 * all,
         [&] { check(quantize_mxfp8_routed(mx, map.row_tokens, nullptr)); }},
        {"1x128 scales widened", all / 128 * 4 + all / 32,
         [&] { check(widen_scales(widen, nullptr)); }}},
       spare, spare + 2 * copies * columns, rounds);
  for (const void* memory :
       {static_cast<const void*>(device_experts), static_cast<const void*>(tokens),
        static_cast<const void*>(sums), static_cast<const void*>(rows),
        static_cast<const void*>(row_gradients), static_cast<const void*>(spare),
        static_cast<const void*>(probabilities), static_cast<const void*>(dots),
        static_cast<const void*>(codes), static_cast<const void*>(transposed),
        static_cast<const void*>(scales), static_cast<const void*>(column_scales),
        static_cast<const void*>(bytes), static_cast<const void*>(column_bytes),
        static_cast<const void*>(refused), static_cast<const void*>(map.row_offsets),
        static_cast<const void*>(map.row_tokens), static_cast<const void*>(map.copy_rows),
        static_cast<const void*>(map.counts)}) {
    check(cudaFree(const_cast<void*>(memory)));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 25;
  for (const Shape& shape : {Shape{4096, 8, 32, 7168}, Shape{8192, 2, 8, 4096},
                             Shape{8192, 8, 128, 2048}, Shape{24576, 4, 128, 2880}}) {
    bench(shape, rounds);
  }
  return 0;
}

// Time of the grouped quantization kernels beside a device copy that moves the same bytes,
// interleaved in one run.
//   gpu_quantize_bench [BLOCKS]      prints one JSON object a line; BLOCKS = interleaved rounds,
//   default 15
// Each sample is one launch between two events after a launch of something else, so no kernel finds
// its own operands in L2 unless they fit beside the other's. Cold and warm are not told apart:
// sizes are given, read them with 60 MB in mind.
#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/amax/group_amax.h"
#include "kernels/bias/bias_gradient.h"
#include "kernels/offsets/splits_to_offsets.h"
#include "kernels/quantize/quantize_block.h"
#include "kernels/quantize/quantize_block_tile.h"
#include "kernels/quantize/quantize_mxfp8.h"
#include "kernels/quantize/quantize_nvfp4.h"
#include "kernels/quantize/quantize_per_tensor.h"

namespace {

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  std::exit(2);
}

template <class T>
T* device_array(std::int64_t count) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, static_cast<std::size_t>(count) * sizeof(T)), "cudaMalloc");
  return static_cast<T*>(memory);
}

/// Sums of four uniform variables: bell-shaped, seeded by position.
__global__ void fill_kernel(__nv_bfloat16* values, std::int64_t count) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    std::uint64_t x = static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15ULL;
    x = (x ^ (x >> 31)) * 0xBF58476D1CE4E5B9ULL;
    x ^= x >> 29;
    const int sum =
        static_cast<int>((x & 0xFFFF) + ((x >> 16) & 0xFFFF) + ((x >> 32) & 0xFFFF) + (x >> 48));
    values[i] = __float2bfloat16(static_cast<float>(sum - 131070) / 37837.0F);
  }
}

struct Contender {
  std::string name;
  double bytes;  // compulsory: read once (or twice) and written once
  std::function<void(cudaStream_t)> launch;
  std::vector<float> times_us;
};

struct Shape {
  int experts;
  std::int64_t rows, columns;
  const char* routing;
};

std::vector<std::int64_t> splits_of(const Shape& shape) {
  std::vector<std::int64_t> splits(static_cast<std::size_t>(shape.experts),
                                   shape.rows / shape.experts);
  if (std::string(shape.routing) == "half the capacity") {
    for (std::int64_t& split : splits) split /= 2;
  }
  if (std::string(shape.routing) == "one-hot") {
    std::fill(splits.begin(), splits.end(), 0);
    splits[0] = shape.rows;
  }
  return splits;
}

float median(std::vector<float> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

void bench(const Shape& shape, int rounds) {
  const std::int64_t elements = shape.rows * shape.columns;
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream), "stream");
  auto* input = device_array<__nv_bfloat16>(elements);
  fill_kernel<<<1024, 256, 0, stream>>>(input, elements);
  auto* codes = device_array<std::uint8_t>(elements);
  auto* transposed = device_array<std::uint8_t>(elements);
  auto* column_scales = device_array<float>(std::max(
      kernels::block_1x128_columnwise_scale_capacity(shape.rows, shape.experts, shape.columns),
      kernels::block_128x128_columnwise_scale_capacity(shape.rows, shape.experts, shape.columns)));
  auto* bias_partials =
      device_array<float>(kernels::bias_partial_capacity(shape.rows, shape.experts, shape.columns));
  auto* scales = device_array<float>(
      std::max(kernels::block_1x128_scale_capacity(shape.rows, shape.experts, shape.columns),
               kernels::block_128x128_scale_capacity(shape.rows, shape.experts, shape.columns)));
  auto* group_scales = device_array<float>(3 * std::int64_t{shape.experts});
  auto* offsets = device_array<std::int64_t>(shape.experts + 1);
  auto* device_splits = device_array<std::int64_t>(shape.experts);
  auto* copied = device_array<char>(elements * 2);
  const std::vector<std::int64_t> splits = splits_of(shape);
  check(cudaMemcpy(device_splits, splits.data(), splits.size() * 8, cudaMemcpyHostToDevice),
        "splits");
  const kernels::SplitsToOffsetsArgs offset_args{.splits = device_splits,
                                                 .num_groups = shape.experts,
                                                 .capacity_rows = shape.rows,
                                                 .row_offsets = offsets};
  check(kernels::splits_to_offsets(offset_args, stream), "offsets");
  const kernels::GroupedInput grouped{.input = input,
                                      .type = kernels::InputType::Bf16,
                                      .row_offsets = offsets,
                                      .num_groups = shape.experts,
                                      .capacity_rows = shape.rows,
                                      .columns = shape.columns};
  const kernels::QuantizeBlockArgs block{.input = grouped,
                                         .options = {.pow2 = true},
                                         .rowwise = {.codes = codes, .scale_inv = scales}};
  auto* tickets = device_array<std::uint32_t>(2);
  check(cudaMemset(tickets, 0, 8), "tickets");
  kernels::QuantizeBlockArgs both = block;
  both.controls.tickets = tickets;
  both.columnwise = {.codes = transposed, .scale_inv = column_scales};
  kernels::QuantizeBlockArgs columnwise = both;
  columnwise.rowwise = {};
  kernels::QuantizeBlockArgs with_bias = both;
  with_bias.bias_partials = bias_partials;
  const std::int64_t active = std::accumulate(splits.begin(), splits.end(), std::int64_t{0});
  const double count = static_cast<double>(active * shape.columns);
  std::vector<Contender> contenders;
  contenders.push_back(
      {"copy",
       3.0 * count,
       [&](cudaStream_t s) {
         check(cudaMemcpyAsync(copied, input,
                               static_cast<std::size_t>(active * shape.columns * 3 / 2),
                               cudaMemcpyDeviceToDevice, s),
               "copy");
       },
       {}});
  contenders.push_back(
      {"offsets",
       0.0,
       [&](cudaStream_t s) { check(kernels::splits_to_offsets(offset_args, s), "offsets"); },
       {}});
  contenders.push_back(
      {"block_1x128",
       (3.0 + 4.0 / 128) * count,
       [&](cudaStream_t s) { check(kernels::quantize_block_1x128(block, s), "1x128"); },
       {}});
  contenders.push_back(
      {"block_128x128",
       3.0 * count,
       [&](cudaStream_t s) { check(kernels::quantize_block_128x128(block, s), "128x128"); },
       {}});
  const auto tile = [&](const char* name, double bytes, const kernels::QuantizeBlockArgs& args,
                        bool square) {
    contenders.push_back({name,
                          bytes * count,
                          [args, square](cudaStream_t s) {
                            check(kernels::quantize_block_tile(args, square, s), "tile");
                          },
                          {}});
  };
  tile("block_1x128_columnwise", 3.0 + 4.0 / 128, columnwise, false);
  tile("block_1x128_both", 4.0 + 8.0 / 128, both, false);
  tile("block_1x128_both_bias", 4.0 + 8.0 / 128, with_bias, false);
  tile("block_128x128_columnwise", 3.0, columnwise, true);
  tile("block_128x128_both", 4.0, both, true);
  contenders.push_back(
      {"per_tensor_current",
       5.0 * count,
       [&](cudaStream_t s) {
         check(kernels::group_amax({.input = grouped, .amax = group_scales}, s), "amax");
         check(kernels::per_tensor_scale({.amax = group_scales,
                                          .num_groups = shape.experts,
                                          .scale = group_scales + shape.experts,
                                          .scale_inv = group_scales + 2 * shape.experts},
                                         s),
               "scale");
         check(kernels::quantize_per_tensor(
                   {.input = grouped, .scale = group_scales + shape.experts, .rowwise = codes}, s),
               "cast");
       },
       {}});

  contenders.push_back(
      {"per_tensor_current_both",
       6.0 * count,
       [&](cudaStream_t s) {
         check(kernels::group_amax({.input = grouped, .amax = group_scales}, s), "amax");
         check(kernels::per_tensor_scale({.amax = group_scales,
                                          .num_groups = shape.experts,
                                          .scale = group_scales + shape.experts,
                                          .scale_inv = group_scales + 2 * shape.experts},
                                         s),
               "scale");
         check(kernels::quantize_per_tensor({.input = grouped,
                                             .scale = group_scales + shape.experts,
                                             .rowwise = codes,
                                             .columnwise = transposed,
                                             .controls = {.tickets = tickets}},
                                            s),
               "cast");
       },
       {}});
  contenders.push_back(
      {"per_tensor_delayed_both",
       4.0 * count,
       [&](cudaStream_t s) {
         check(kernels::quantize_per_tensor({.input = grouped,
                                             .scale = group_scales + shape.experts,
                                             .rowwise = codes,
                                             .columnwise = transposed,
                                             .amax = group_scales,
                                             .scale_inv = group_scales + 2 * shape.experts,
                                             .controls = {.tickets = tickets}},
                                            s),
               "delayed");
       },
       {}});

  auto* row_bytes = device_array<std::uint8_t>(
      kernels::micro_rowwise_scale_capacity(shape.rows, shape.experts, shape.columns, 16));
  auto* column_bytes = device_array<std::uint8_t>(
      kernels::micro_columnwise_scale_capacity(shape.rows, shape.experts, shape.columns, 16));
  for (const int mode : {1, 2, 3, 7}) {
    kernels::QuantizeMxfp8Args mx{.input = grouped, .square_blocks = mode == 7};
    if ((mode & 1) != 0) mx.rowwise = {codes, row_bytes};
    if ((mode & 2) != 0) mx.columnwise = {transposed, column_bytes};
    mx.controls.tickets = tickets;
    contenders.push_back({mode == 1   ? "mxfp8_row"
                          : mode == 2 ? "mxfp8_columnwise"
                          : mode == 3 ? "mxfp8_both"
                                      : "mxfp8_square_both",
                          (mode >= 3 ? 4.0 + 2.0 / 32 : 3.0 + 1.0 / 32) * count,
                          [mx](cudaStream_t s) { check(kernels::quantize_mxfp8(mx, s), "mxfp8"); },
                          {}});
  }
  contenders.push_back({"nvfp4_amax",
                        2.0 * count,
                        [&](cudaStream_t s) {
                          check(kernels::nvfp4_amax({.input = grouped,
                                                     .hadamard = true,
                                                     .rowwise_amax = group_scales,
                                                     .columnwise_amax = group_scales},
                                                    s),
                                "nvfp4 amax");
                        },
                        {}});
  for (const int mode : {1, 3, 7}) {
    kernels::QuantizeNvfp4Args nv{.input = grouped, .hadamard = mode == 7};
    nv.rowwise = {codes, row_bytes, group_scales};
    if (mode != 1) nv.columnwise = {transposed, column_bytes, group_scales};
    nv.controls.tickets = tickets;
    contenders.push_back({mode == 1   ? "nvfp4_row"
                          : mode == 3 ? "nvfp4_both"
                                      : "nvfp4_both_hadamard",
                          (mode == 1 ? 2.5 + 1.0 / 16 : 3.0 + 2.0 / 16) * count,
                          [nv](cudaStream_t s) { check(kernels::quantize_nvfp4(nv, s), "nvfp4"); },
                          {}});
  }

  cudaEvent_t begin = nullptr, end = nullptr;
  check(cudaEventCreate(&begin), "event");
  check(cudaEventCreate(&end), "event");
  for (int round = -3; round < rounds; ++round) {
    for (Contender& contender : contenders) {
      contender.launch(stream);
      check(cudaEventRecord(begin, stream), "record");
      constexpr int kRepeats = 4;
      for (int i = 0; i < kRepeats; ++i) contender.launch(stream);
      check(cudaEventRecord(end, stream), "record");
      check(cudaEventSynchronize(end), "wait");
      float ms = 0;
      check(cudaEventElapsedTime(&ms, begin, end), "elapsed");
      if (round >= 0) contender.times_us.push_back(ms * 1e3F / kRepeats);
    }
  }
  const double copy_rate =
      contenders[0].bytes / static_cast<double>(median(contenders[0].times_us));
  for (const Contender& contender : contenders) {
    const double us = static_cast<double>(median(contender.times_us));
    std::printf(
        "{\"experts\": %d, \"rows\": %lld, \"columns\": %lld, \"routing\": \"%s\", \"kernel\": "
        "\"%s\", "
        "\"median_us\": %.2f, \"n\": %zu, \"gb_per_s\": %.0f, \"of_copy\": %.3f}\n",
        shape.experts, static_cast<long long>(shape.rows), static_cast<long long>(shape.columns),
        shape.routing, contender.name.c_str(), us, contender.times_us.size(),
        contender.bytes / us / 1e3, contender.bytes / us / copy_rate);
  }
  for (void* memory :
       {static_cast<void*>(input), static_cast<void*>(codes), static_cast<void*>(scales),
        static_cast<void*>(transposed), static_cast<void*>(column_scales),
        static_cast<void*>(bias_partials), static_cast<void*>(tickets),
        static_cast<void*>(row_bytes), static_cast<void*>(column_bytes),
        static_cast<void*>(group_scales), static_cast<void*>(offsets),
        static_cast<void*>(device_splits), static_cast<void*>(copied)}) {
    check(cudaFree(memory), "free");
  }
  check(cudaEventDestroy(begin), "event");
  check(cudaEventDestroy(end), "event");
  check(cudaStreamDestroy(stream), "stream");
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 15;
  for (const Shape& shape : std::initializer_list<Shape>{{32, 32768, 7168, "uniform"},
                                                         {8, 16384, 4096, "uniform"},
                                                         {128, 65536, 2048, "uniform"},
                                                         {16, 98304, 2880, "uniform"},
                                                         {32, 131072, 7168, "uniform"},
                                                         {1024, 32768, 7168, "uniform"},
                                                         {32, 32768, 7168, "one-hot"},
                                                         {32, 32768, 7168, "half the capacity"},
                                                         {8, 256, 4096, "uniform"}}) {
    bench(shape, rounds);
  }
  return 0;
}

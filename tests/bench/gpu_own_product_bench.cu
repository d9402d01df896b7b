// Our own grouped products where memory limits them, interleaved in one run: fprop of few rows per
// expert beside a read of the bytes that it must read, and weight gradients in FP32 beside those in
// BF16 and beside a device copy that moves the same bytes.
//   gpu_own_product_bench [ROUNDS]
#include "kernels/product/m_grouped_block.h"
#include "kernels/product/wgrad_block.h"
#include "tests/bench/race.h"

namespace {

using bench::check;
using bench::Contender;
using namespace kernels;

constexpr unsigned kBlocks = 132 * 8;
constexpr unsigned kBlockThreads = 256;

/// Random codes, none of them NaN: what they cost depends on their bits (gpu_product_bench).
__global__ void fill_with_codes(std::uint32_t* words, std::int64_t count, std::uint32_t seed) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    std::uint32_t x = static_cast<std::uint32_t>(i) * 2654435761U + seed;
    x = (x ^ x >> 16) * 0x85EBCA6BU;
    x = (x ^ x >> 13) * 0xC2B2AE35U;
    words[i] = (x ^ x >> 16) & 0xBFBFBFBFU;
  }
}

__global__ void fill_with(float* values, std::int64_t count, float value) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    values[i] = value;
  }
}

/// Reads every piece of 16 bytes; `sink` is never written, which the compiler does not know.
__global__ void read_all(const uint4* pieces, std::int64_t count, std::uint32_t* sink) {
  constexpr int kAtOnce = 8;
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  const std::int64_t first = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  std::uint32_t all = 0;
  for (std::int64_t i = first; i < count; i += kAtOnce * threads) {
    uint4 read[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      read[k] = i + k * threads < count ? __ldcs(pieces + i + k * threads) : uint4{};
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) all |= read[k].x & read[k].y & read[k].z & read[k].w;
  }
  if (all == 0xFFFFFFFFU) *sink = all;  // one bit of every code is 0
}

std::uint8_t* random_codes(bench::DeviceMemory& memory, std::int64_t count, std::uint32_t seed) {
  auto* const codes = memory.zeros<std::uint8_t>(count);
  fill_with_codes<<<kBlocks, kBlockThreads>>>(reinterpret_cast<std::uint32_t*>(codes), count / 4,
                                              seed);
  return codes;
}

float* equal_scales(bench::DeviceMemory& memory, std::int64_t count) {
  auto* const scales = memory.zeros<float>(count);
  fill_with<<<kBlocks, kBlockThreads>>>(scales, count, 0x1p-6F);
  return scales;
}

/// Every group has `rows` rows.
struct Shape {
  const char* name;
  int groups;
  std::int64_t rows, n, k;
};

std::vector<std::int64_t> equal_offsets(const Shape& shape) {
  std::vector<std::int64_t> offsets;
  for (int g = 0; g <= shape.groups; ++g) offsets.push_back(g * shape.rows);
  return offsets;
}

void print(const Shape& shape) {
  std::printf("%s: %d groups of %lld rows, n %lld, k %lld\n", shape.name, shape.groups,
              static_cast<long long>(shape.rows), static_cast<long long>(shape.n),
              static_cast<long long>(shape.k));
}

void race_few_rows(const Shape& shape, int rounds) {
  print(shape);
  bench::DeviceMemory memory;
  const std::int64_t rows = shape.groups * shape.rows;
  const std::int64_t weights = shape.groups * shape.n * shape.k;
  const std::int64_t x_scales = (rows + 3 * shape.groups) * ceil_div(shape.k, kBlock);
  const std::int64_t w_scales =
      shape.groups * ceil_div(shape.n, kBlock) * round_up(ceil_div(shape.k, kBlock), 4);
  auto* const x = random_codes(memory, rows * shape.k, 1);
  auto* const w = random_codes(memory, weights, 2);
  const MGroupedBlockArgs product{.x = {.codes = x, .scale_inv = equal_scales(memory, x_scales)},
                                  .w = {.codes = w, .scale_inv = equal_scales(memory, w_scales)},
                                  .row_offsets = memory.copy_of(equal_offsets(shape)),
                                  .num_groups = shape.groups,
                                  .capacity_rows = rows,
                                  .columns = shape.n,
                                  .reduction = shape.k,
                                  .output = memory.zeros<std::uint16_t>(rows * shape.n),
                                  .tickets = memory.zeros<std::uint32_t>(2)};
  const std::int64_t bytes = weights + rows * shape.k + 4 * (x_scales + w_scales);
  // The copy beside them moves as many bytes, half of them each way.
  auto* const spare = random_codes(memory, round_up(bytes, 16), 3);
  auto* const copied = memory.zeros<std::uint8_t>(bytes / 2 + 16);
  auto* const sink = memory.zeros<std::uint32_t>(1);
  const auto count = static_cast<double>(bytes);
  const std::vector<double> medians =
      bench::race({{"fprop", count, [&] { check(m_grouped_block(product, nullptr)); }},
                   {"a read of the same bytes", count,
                    [&] {
                      read_all<<<kBlocks, kBlockThreads>>>(reinterpret_cast<const uint4*>(spare),
                                                           bytes / 16, sink);
                    }}},
                  spare, copied, rounds);
  std::printf("  fprop reads at %.2f TB/s, %.2f of the read\n", count / medians[0] / 1e6,
              medians[1] / medians[0]);
}

void race_gradients(const Shape& shape, int rounds) {
  print(shape);
  bench::DeviceMemory memory;
  const std::int64_t rows = shape.groups * shape.rows;
  const std::int64_t gradients = shape.groups * shape.n * shape.k;
  const std::int64_t blocks = wgrad_scale_blocks(rows, shape.groups);
  WgradBlockArgs product{.y = {.codes = random_codes(memory, shape.n * rows, 1),
                               .scale_inv = equal_scales(memory, blocks * shape.n)},
                         .x = {.codes = random_codes(memory, shape.k * rows, 2),
                               .scale_inv = equal_scales(memory, blocks * shape.k)},
                         .row_offsets = memory.copy_of(equal_offsets(shape)),
                         .num_groups = shape.groups,
                         .capacity_rows = rows,
                         .n = shape.n,
                         .k = shape.k,
                         .gradient = memory.zeros<float>(gradients)};
  product.first_columns = product.row_offsets;  // multiples of kJoinedUnit here
  auto* const spare = memory.zeros<float>(gradients);
  auto* const copied = memory.zeros<float>(gradients);
  const auto count = static_cast<double>(gradients);
  const auto contender = [&](const char* name, InputType type, bool accumulate, double bytes) {
    WgradBlockArgs args = product;
    args.type = type;
    args.accumulate = accumulate;
    return Contender{name, bytes, [args] { check(wgrad_block(args, nullptr)); }};
  };
  const std::vector<double> medians =
      bench::race({contender("BF16 =", InputType::Bf16, false, 2 * count),
                   contender("BF16 +=", InputType::Bf16, true, 4 * count),
                   contender("FP32 =", InputType::Fp32, false, 4 * count),
                   contender("FP32 +=", InputType::Fp32, true, 8 * count)},
                  spare, copied, rounds);
  std::printf("  FP32 = takes %.2f and FP32 += %.2f times as long as BF16 =\n",
              medians[2] / medians[0], medians[3] / medians[0]);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 60;
  for (const std::int64_t rows : {8, 16, 32, 64}) {
    race_few_rows({"Mixtral 8x7B up", 8, rows, 28672, 4096}, rounds);
    race_few_rows({"DeepSeek-V3 up", 32, rows, 4096, 7168}, rounds);
    race_few_rows({"Qwen3-30B-A3B up", 128, rows, 1536, 2048}, rounds);
  }
  race_gradients({"Mixtral 8x7B up", 8, 2048, 28672, 4096}, rounds);
  race_gradients({"DeepSeek-V3 up", 32, 1024, 4096, 7168}, rounds);
  race_gradients({"Qwen3-30B-A3B up", 128, 512, 1536, 2048}, rounds);
  return 0;
}

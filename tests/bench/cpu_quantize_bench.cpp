// Rate of the CPU twins, one core, beside a copy that moves the same bytes: what Live mode on a
// laptop costs. Run with OMP_NUM_THREADS=1; the "of_copy" counter is the ratio to the copy measured
// in the same process.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/amax/group_amax.h"
#include "kernels/quantize/quantize_block.h"
#include "kernels/quantize/quantize_per_tensor.h"

namespace {

constexpr std::int64_t kRows = 4096;
constexpr std::int64_t kColumns = 1024;
constexpr std::int64_t kElements = kRows * kColumns;

struct Operand {
  std::vector<std::uint16_t> bf16 = std::vector<std::uint16_t>(kElements);
  std::vector<std::int64_t> offsets = {0, kRows};
  std::vector<std::uint8_t> codes = std::vector<std::uint8_t>(kElements);
  std::vector<float> scales = std::vector<float>(
      static_cast<std::size_t>(kernels::block_line_scale_capacity(kRows, 1, kColumns)));

  Operand() {
    std::mt19937 bits(7);
    // Exponents of a normal-like spread: no infinities or NaNs, so that every element takes the
    // usual path.
    for (auto& value : bf16)
      value = static_cast<std::uint16_t>((bits() & 0x80FFU) | (0x3E00U + (bits() & 0x1FFU)));
  }
  kernels::GroupedInput input() const {
    return {.input = bf16.data(),
            .type = kernels::InputType::Bf16,
            .row_offsets = offsets.data(),
            .num_groups = 1,
            .capacity_rows = kRows,
            .columns = kColumns};
  }
};

Operand& operand() {
  static Operand instance;
  return instance;
}

/// Seconds to move 2 bytes in and 1 byte out an element: the floor of a one-pass quantizer.
double copy_seconds() {
  Operand& o = operand();
  std::vector<std::uint8_t> sink(kElements * 3 / 2);
  double best = 1e9;
  for (int i = 0; i < 20; ++i) {
    const auto start = std::chrono::steady_clock::now();
    std::memcpy(sink.data(), o.bf16.data(), sink.size());
    benchmark::DoNotOptimize(sink.data());
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

void report(benchmark::State& state) {
  const double copy_rate = static_cast<double>(kElements) / copy_seconds();
  state.SetItemsProcessed(state.iterations() * kElements);
  state.counters["of_copy"] = benchmark::Counter(
      static_cast<double>(state.iterations() * kElements) / copy_rate, benchmark::Counter::kIsRate);
}

void block(benchmark::State& state, void (*quantize)(const kernels::QuantizeBlockArgs&),
           bool pow2) {
  Operand& o = operand();
  for (auto _ : state) {
    quantize({.input = o.input(),
              .format = kernels::Fp8Format::E4m3,
              .options = {.pow2 = pow2},
              .rowwise = {.codes = o.codes.data(), .scale_inv = o.scales.data()}});
  }
  report(state);
}
void block_1x128(benchmark::State& state) {
  block(state, kernels::quantize_block_lines_cpu, state.range(0) != 0);
}
void block_128x128(benchmark::State& state) {
  block(state, kernels::quantize_block_squares_cpu, state.range(0) != 0);
}
void per_tensor_current(benchmark::State& state) {
  Operand& o = operand();
  float amax = 0, scale = 0, scale_inv = 0;
  for (auto _ : state) {
    kernels::group_amax_cpu({.input = o.input(), .amax = &amax});
    kernels::per_tensor_scale_cpu(
        {.amax = &amax, .num_groups = 1, .scale = &scale, .scale_inv = &scale_inv});
    kernels::quantize_per_tensor_cpu(
        {.input = o.input(), .scale = &scale, .rowwise = o.codes.data()});
  }
  report(state);
}

BENCHMARK(block_1x128)->ArgName("pow2")->Arg(0)->Arg(1);
BENCHMARK(block_128x128)->ArgName("pow2")->Arg(0)->Arg(1);
BENCHMARK(per_tensor_current);

}  // namespace

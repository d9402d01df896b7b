// What the statistics of channels cost on the CPU: time of an operand's statistics without and with
// them, interleaved in one process. Run by hand; OMP_NUM_THREADS chooses the cores.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "kernels/dequantize/dequantize.h"
#include "kernels/diagnostics/channel_statistics.h"
#include "kernels/diagnostics/statistics.h"
#include "kernels/quantize/quantize_block.h"

namespace {

constexpr int kRounds = 15;

double milliseconds(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + std::ssize(values) / 2);
  return values[values.size() / 2];
}

void measure(std::int64_t rows, std::int64_t columns) {
  const auto elements = static_cast<std::size_t>(rows * columns);
  std::vector<std::uint16_t> bf16(elements);
  std::mt19937 random(7);
  // Exponents of a normal-like spread, without infinities and NaNs.
  for (auto& value : bf16) {
    value = static_cast<std::uint16_t>((random() & 0x80FFU) | (0x3E00U + (random() & 0x1FFU)));
  }
  const std::vector<std::int64_t> offsets = {0, rows};
  std::vector<std::uint8_t> codes(elements);
  std::vector<float> scales(
      static_cast<std::size_t>(kernels::block_line_scale_capacity(rows, 1, columns)));
  std::vector<float> decoded(elements);
  const kernels::GroupedInput input{.input = bf16.data(),
                                    .type = kernels::InputType::Bf16,
                                    .row_offsets = offsets.data(),
                                    .num_groups = 1,
                                    .capacity_rows = rows,
                                    .columns = columns};
  kernels::quantize_block_lines_cpu(
      {.input = input,
       .format = kernels::Fp8Format::E4m3,
       .rowwise = {.codes = codes.data(), .scale_inv = scales.data()}});
  const kernels::QuantizedView view{.codes = codes.data(),
                                    .layout = kernels::ScaleLayout::BlockLine,
                                    .scales = scales.data(),
                                    .row_offsets = offsets.data(),
                                    .num_groups = 1,
                                    .capacity_rows = rows,
                                    .columns = columns};
  kernels::dequantize_cpu({.quantized = view, .output = decoded.data()});

  const auto before = std::make_unique<kernels::MagnitudeCounts>();
  const auto after = std::make_unique<kernels::MagnitudeCounts>();
  kernels::GroupQuantizationSums sums{};
  std::vector<std::uint64_t> bins(kernels::kBlockErrorBins);
  std::vector<kernels::ChannelSums> of_columns(static_cast<std::size_t>(columns));
  std::vector<kernels::ChannelSums> of_rows(static_cast<std::size_t>(rows));
  const auto statistics = [&](bool channels) {
    kernels::quantization_statistics_cpu({.input = input,
                                          .quantized = view,
                                          .before = before.get(),
                                          .after = after.get(),
                                          .sums = &sums,
                                          .columns = channels ? of_columns.data() : nullptr,
                                          .rows = channels ? of_rows.data() : nullptr});
    kernels::channel_statistics_cpu({.input = input,
                                     .decoded = decoded.data(),
                                     .block_counts = bins.data(),
                                     .columns = channels ? of_columns.data() : nullptr,
                                     .rows = channels ? of_rows.data() : nullptr});
  };
  std::vector<double> without;
  std::vector<double> with;
  for (int round = 0; round < kRounds; ++round) {
    without.push_back(milliseconds([&] { statistics(false); }));
    with.push_back(milliseconds([&] { statistics(true); }));
  }
  fmt::print("{} x {}: without channels {:.1f} ms, with channels {:.1f} ms: {:+.1f} %\n", rows,
             columns, median(without), median(with),
             100.0 * (median(with) / median(without) - 1.0));
}

}  // namespace

int main() {
  measure(2048, 7168);
  measure(64, 16384);
  measure(8192, 1024);
}

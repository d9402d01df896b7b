// CPU twin of the weight gradients of FP8 block scaling.
#include "kernels/product/wgrad_block.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/common/element_run.h"
#include "kernels/common/fp8_codes.h"
#include "kernels/product/wgrad_tile.h"

namespace kernels {
namespace {

/// The lines [0, lines) of one block of rows as FP32: [lines, rows].
void decode_block(const ScaledCodes& operand, std::int64_t lines, std::int64_t pitch,
                  std::int64_t first, std::int64_t rows, std::vector<float>& values) {
  const Fp8Values& table = fp8_values(operand.format);
  values.resize(static_cast<std::size_t>(lines * rows));
  for (std::int64_t line = 0; line < lines; ++line) {
    const std::uint8_t* codes = operand.codes + line * pitch + first;
    for (std::int64_t row = 0; row < rows; ++row) {
      values[static_cast<std::size_t>(line * rows + row)] = table[codes[row]];
    }
  }
}

}  // namespace

std::int64_t wgrad_block_tiles(const WgradBlockArgs& args) {
  return ceil_div(args.n, kWgradTileRows) *
         round_up(ceil_div(args.k, kWgradTileColumns), kWgradCluster) * args.num_groups;
}

void wgrad_block_cpu(const WgradBlockArgs& args) {
  std::vector<float> y;
  std::vector<float> x;
  std::vector<float> before;
  std::vector<float> sums(static_cast<std::size_t>(args.n * args.k));
  std::int64_t block = 0;
  for (int group = 0; group < args.num_groups; ++group) {
    std::fill(sums.begin(), sums.end(), 0.0F);
    const std::int64_t rows = args.row_offsets[group + 1] - args.row_offsets[group];
    for (std::int64_t done = 0; done < rows; done += kBlock, ++block) {
      const std::int64_t count = std::min(kBlock, rows - done);
      const std::int64_t first = args.first_columns[group] + done;
      decode_block(args.y, args.n, args.capacity_rows, first, count, y);
      decode_block(args.x, args.k, args.capacity_rows, first, count, x);
      const float* scale_y = args.y.scale_inv + block * args.n;
      const float* scale_x = args.x.scale_inv + block * args.k;
#pragma omp parallel for schedule(static)
      for (std::int64_t n = 0; n < args.n; ++n) {
        for (std::int64_t k = 0; k < args.k; ++k) {
          float inner = 0.0F;
          for (std::int64_t row = 0; row < count; ++row) {
            inner += y[static_cast<std::size_t>(n * count + row)] *
                     x[static_cast<std::size_t>(k * count + row)];
          }
          float& sum = sums[static_cast<std::size_t>(n * args.k + k)];
          sum = std::fma(inner * scale_x[k], scale_y[n], sum);
        }
      }
    }
    const std::int64_t elements = args.n * args.k;
    const std::int64_t first = group * elements;
    if (args.accumulate) {
      if (rows == 0) continue;
      before.resize(sums.size());
      widen_run({.input = args.gradient, .type = args.type, .first = first, .count = elements},
                before.data());
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += before[i];
    }
    round_run(sums.data(), elements, args.type, args.gradient, first);
  }
}

}  // namespace kernels

// CPU twin of the M-grouped products of FP8 block scaling.
#include "kernels/product/m_grouped_block.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/common/element_run.h"
#include "kernels/common/fp8_codes.h"
#include "kernels/product/m_grouped_tile.h"

namespace kernels {

int m_grouped_tile_rows(const MGroupedBlockArgs& args) {
  constexpr std::int64_t kLong = 160;
  if (args.tile_rows != 0) return args.tile_rows;
  return kMGroupedTileRows[args.capacity_rows >= kLong * args.num_groups ? 1 : 0];
}

std::int64_t m_grouped_block_tiles(const MGroupedBlockArgs& args) {
  const std::int64_t whole =
      (args.capacity_rows / m_grouped_tile_rows(args) + args.num_groups) *
      round_up(ceil_div(args.columns, kMGroupedTileColumns), kMGroupedCluster);
  return whole + kMGroupedMostHalved * kMGroupedCluster;
}

void m_grouped_block_cpu(const MGroupedBlockArgs& args) {
  const std::int64_t blocks = ceil_div(args.reduction, kBlock);
  const std::int64_t squares = ceil_div(args.columns, kBlock);
  const std::int64_t square_pitch = round_up(blocks, 4);
  const Fp8Values& x_values = fp8_values(args.x.format);
  const Fp8Values& w_values = fp8_values(args.w.format);
  std::int64_t first_scale = 0;  // of the group
  for (int group = 0; group < args.num_groups; ++group) {
    const std::int64_t begin = args.row_offsets[group];
    const std::int64_t rows = args.row_offsets[group + 1] - begin;
    const std::int64_t pitch = round_up(rows, 4);
#pragma omp parallel for schedule(static)
    for (std::int64_t row = 0; row < rows; ++row) {
      std::vector<float> sums(static_cast<std::size_t>(args.columns));
      const std::uint8_t* x = args.x.codes + (begin + row) * args.reduction;
      for (std::int64_t column = 0; column < args.columns; ++column) {
        const std::uint8_t* w = args.w.codes + (group * args.columns + column) * args.reduction;
        const float* w_scales =
            args.w.scale_inv + (group * squares + column / kBlock) * square_pitch;
        float& sum = sums[static_cast<std::size_t>(column)];
        for (std::int64_t block = 0; block < blocks; ++block) {
          const std::int64_t end = std::min((block + 1) * kBlock, args.reduction);
          float inner = 0.0F;
          for (std::int64_t i = block * kBlock; i < end; ++i)
            inner += x_values[x[i]] * w_values[w[i]];
          const float scale = args.x.scale_inv[first_scale + block * pitch + row] * w_scales[block];
          sum = std::fma(inner, scale, sum);
        }
      }
      round_run(sums.data(), args.columns, args.type, args.output, (begin + row) * args.columns);
    }
    first_scale += blocks * pitch;
  }
}

}  // namespace kernels

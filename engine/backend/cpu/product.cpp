// A tile's FP32 sums live in a thread's own scratch until they are rounded: the FP32 output of a
// whole expert may not fit in memory.
#include "engine/backend/cpu/product.h"

#include <cblas.h>
#include <omp.h>

#include <algorithm>
#include <vector>

#include "engine/input/element_rounding.h"
#include "kernels/common/types.h"

namespace engine {
namespace {

constexpr std::int64_t kLargestTile =
    256;  // 256 KiB of FP32 sums: fits a core's second-level cache
constexpr std::int64_t kSmallestTile = 64;

/// Side of the square tiles: smaller where large ones would leave threads without work.
std::int64_t tile_side(const ProductArgs& args, int threads) {
  std::int64_t side = kLargestTile;
  while (side > kSmallestTile &&
         kernels::ceil_div(args.m, side) * kernels::ceil_div(args.n, side) < threads) {
    side /= 2;
  }
  return side;
}

struct Tile {
  std::int64_t row = 0;
  std::int64_t rows = 0;
  std::int64_t column = 0;
  std::int64_t columns = 0;
};

void tile_product(const ProductArgs& args, const Tile& tile, float* y, std::int64_t y_stride) {
  const auto k = static_cast<blasint>(args.k);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<blasint>(tile.rows),
              static_cast<blasint>(tile.columns), k, 1.0F, args.x + tile.row * args.k, k,
              args.w + tile.column * args.k, k, 0.0F, y, static_cast<blasint>(y_stride));
}

}  // namespace

void product(const ProductArgs& args) {
  if (args.m == 0 || args.n == 0) return;
  // A sequential build of OpenBLAS has no locks and must not be entered by two threads.
  const int threads = openblas_get_parallel() == OPENBLAS_SEQUENTIAL ? 1 : omp_get_max_threads();
  const std::int64_t side = tile_side(args, threads);
  const std::int64_t tiles_x = kernels::ceil_div(args.n, side);
  const std::int64_t tiles = tiles_x * kernels::ceil_div(args.m, side);
#pragma omp parallel num_threads(threads)
  {
    std::vector<float> sums(args.y_bf16 == nullptr ? 0 : static_cast<std::size_t>(side * side));
#pragma omp for schedule(dynamic)
    for (std::int64_t t = 0; t < tiles; ++t) {
      if (args.cancel != nullptr && args.cancel->load(std::memory_order_relaxed)) continue;
      Tile tile{.row = t / tiles_x * side, .column = t % tiles_x * side};
      tile.rows = std::min(side, args.m - tile.row);
      tile.columns = std::min(side, args.n - tile.column);
      const std::int64_t corner = tile.row * args.n + tile.column;
      if (args.y_bf16 == nullptr) {
        tile_product(args, tile, args.y_f32 + corner, args.n);
        continue;
      }
      tile_product(args, tile, sums.data(), side);
      for (std::int64_t row = 0; row < tile.rows; ++row) {
        const float* from = sums.data() + row * side;
        std::uint16_t* to = args.y_bf16 + corner + row * args.n;
        for (std::int64_t column = 0; column < tile.columns; ++column) {
          to[column] = bf16_bits(from[column]);
        }
      }
    }
  }
}

void confine_openblas() { openblas_set_num_threads(1); }

std::string openblas_name() {
  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...": the name and the version are the first words.
  const std::string config = openblas_get_config();
  const std::size_t version = config.find(' ');
  return version == std::string::npos ? config : config.substr(0, config.find(' ', version + 1));
}

}  // namespace engine

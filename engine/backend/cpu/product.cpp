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

/// Side of the square tiles: smaller if large ones would leave threads idle.
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
  if (args.k == 0) {
    for (std::int64_t row = 0; row < tile.rows; ++row) {
      std::fill_n(y + row * y_stride, tile.columns, 0.0F);
    }
    return;
  }
  const auto stride = [](std::int64_t elements) { return static_cast<blasint>(elements); };
  cblas_sgemm(CblasRowMajor, args.x_transposed ? CblasTrans : CblasNoTrans,
              args.w_transposed ? CblasNoTrans : CblasTrans, stride(tile.rows),
              stride(tile.columns), stride(args.k), 1.0F,
              args.x + tile.row * (args.x_transposed ? 1 : args.k),
              stride(args.x_transposed ? args.m : args.k),
              args.w + tile.column * (args.w_transposed ? 1 : args.k),
              stride(args.w_transposed ? args.n : args.k), 0.0F, y, stride(y_stride));
}

/// Adds `count` sums to y if requested, and rounds them to its type.
void store(const ProductArgs& args, const float* sums, std::int64_t first, std::int64_t count) {
  if (args.y_type == ElementType::Fp32) {
    float* y = static_cast<float*>(args.y) + first;
    for (std::int64_t i = 0; i < count; ++i) y[i] = args.accumulate ? y[i] + sums[i] : sums[i];
    return;
  }
  auto* y = static_cast<std::uint16_t*>(args.y) + first;
  for (std::int64_t i = 0; i < count; ++i) {
    float value = sums[i];
    if (args.accumulate) value += value_of(args.y_type, y[i]);
    y[i] = round_to(args.y_type, value);
  }
}

}  // namespace

void product(const ProductArgs& args) {
  if (args.m == 0 || args.n == 0) return;
  // A sequential build of OpenBLAS has no locks and must not be entered by two threads.
  const int threads = openblas_get_parallel() == OPENBLAS_SEQUENTIAL ? 1 : omp_get_max_threads();
  const std::int64_t side = tile_side(args, threads);
  const std::int64_t tiles_x = kernels::ceil_div(args.n, side);
  const std::int64_t tiles = tiles_x * kernels::ceil_div(args.m, side);
  const bool direct = args.y_type == ElementType::Fp32 && !args.accumulate;
#pragma omp parallel num_threads(threads)
  {
    std::vector<float> sums(direct ? 0 : static_cast<std::size_t>(side * side));
#pragma omp for schedule(dynamic)
    for (std::int64_t t = 0; t < tiles; ++t) {
      if (args.cancel != nullptr && args.cancel->load(std::memory_order_relaxed)) continue;
      Tile tile{.row = t / tiles_x * side, .column = t % tiles_x * side};
      tile.rows = std::min(side, args.m - tile.row);
      tile.columns = std::min(side, args.n - tile.column);
      const std::int64_t corner = tile.row * args.n + tile.column;
      if (direct) {
        tile_product(args, tile, static_cast<float*>(args.y) + corner, args.n);
        continue;
      }
      tile_product(args, tile, sums.data(), side);
      for (std::int64_t row = 0; row < tile.rows; ++row) {
        store(args, sums.data() + row * side, corner + row * args.n, tile.columns);
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

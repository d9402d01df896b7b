// A 128 x 128 tile of a grouped operand as FP32, on the host: the CPU twins work on these when
// they need columns, padded rows or an activation.
#pragma once

#include <functional>
#include <vector>

#include "kernels/common/types.h"

namespace kernels {

inline constexpr int kTileSide = 128;

/// A tile's place. Rows are counted in the output; in_rows of them exist in the input, the others
/// and the columns beyond the operand are zeros.
struct HostTile {
  int group = 0;
  std::int64_t row_in_group = 0;
  std::int64_t column = 0;
  int in_rows = 0;
  int out_rows = 0;             // 1..128
  int columns = 0;              // 1..128
  std::int64_t in_first = 0;    // row of the input
  std::int64_t out_begin = 0;   // the group's first row in the outputs
  std::int64_t out_m = 0;       // its rows there
  std::int64_t strip = 0;       // 128-row strips of the outputs before this one
  std::int64_t bias_strip = 0;  // of the inputs
  // For the rowwise outputs, which may keep the input's rows (OutputRows):
  int rowwise_rows = 0;            // to write, 0..128
  std::int64_t rowwise_m = 0;      // the group's
  std::int64_t rowwise_first = 0;  // the tile's first
};

/// Values of one tile, and the same transposed (columns become lines).
struct TileValues {
  std::vector<float> lines = std::vector<float>(kTileSide * kTileSide);
  std::vector<float> transposed = std::vector<float>(kTileSide * kTileSide);
  float* line(int i) { return lines.data() + i * kTileSide; }
  float* column(int i) { return transposed.data() + i * kTileSide; }
};

/// Calls work(tile, values) for every tile, distributed over threads; `values` is thread-local
/// memory, not yet filled.
void for_each_tile(const GroupedInput& input, const OutputRows& output,
                   const std::function<void(const HostTile&, TileValues&)>& work);

/// Fills values.lines, activation included.
void load_tile(const GroupedInput& input, const HostTile& tile, TileValues& values);
/// Fills values.transposed from values.lines.
void transpose_tile(TileValues& values);
/// Adds the tile's share of bias partials (bias/bias.h) from values.lines.
void store_bias_partials(const HostTile& tile, TileValues& values, std::int64_t columns,
                         float* partials);

/// Row offsets of the outputs.
inline const std::int64_t* output_offsets(const GroupedInput& input, const OutputRows& output) {
  return output.row_offsets != nullptr ? output.row_offsets : input.row_offsets;
}

}  // namespace kernels

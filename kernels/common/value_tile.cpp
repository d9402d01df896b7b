#include "kernels/common/value_tile.h"

#include <algorithm>
#include <cstring>

#include "kernels/common/element_run.h"

namespace kernels {
namespace {

void widen(const void* source, InputType type, std::int64_t first, std::int64_t count,
           float* values) {
  widen_run({.input = source, .type = type, .first = first, .count = count}, values);
}

/// `count` elements of a row of what is quantized, from `column` on; all in gate's or in up's
/// columns where it is a gradient.
void load_run(const GroupedInput& input, std::int64_t row, std::int64_t column, std::int64_t count,
              float* values) {
  const Activation& activation = input.activation;
  if (activation.is_none()) {
    return widen(input.input, input.type, row * input.columns + column, count, values);
  }
  const std::int64_t half = input.activated_columns();
  const bool of_up = column >= half;
  const std::int64_t at = of_up ? column - half : column;
  float up[kTileSide];
  const std::int64_t gate = row * input.input_columns() + at;
  widen(input.input, input.type, gate, count, values);
  if (activation.gated) widen(input.input, input.type, gate + half, count, up);
  if (input.output_gradient == nullptr) {
    return activate_run(activation, input.type, up, count, values);
  }
  float dy[kTileSide];
  widen(input.output_gradient, input.type, row * half + at, count, dy);
  activation_gradient_run(activation, input.type, up, dy, of_up, count, values);
}

std::vector<HostTile> list_tiles(const GroupedInput& input, const OutputRows& output) {
  const std::int64_t* out = output_offsets(input, output);
  std::vector<HostTile> tiles;
  HostTile tile;
  std::int64_t strip = 0;
  std::int64_t bias_strip = 0;
  for (tile.group = 0; tile.group < input.num_groups; ++tile.group) {
    const int g = tile.group;
    const std::int64_t in_m = input.row_offsets[g + 1] - input.row_offsets[g];
    tile.out_begin = out[g];
    tile.out_m = out[g + 1] - out[g];
    for (std::int64_t row = 0; row < tile.out_m; row += kTileSide, ++strip) {
      tile.row_in_group = row;
      tile.in_first = input.row_offsets[g] + row;
      tile.in_rows = static_cast<int>(std::clamp<std::int64_t>(in_m - row, 0, kTileSide));
      tile.out_rows = static_cast<int>(std::min<std::int64_t>(tile.out_m - row, kTileSide));
      tile.rowwise_rows = output.columnwise_only ? tile.in_rows : tile.out_rows;
      tile.rowwise_m = output.columnwise_only ? in_m : tile.out_m;
      tile.rowwise_first = output.columnwise_only ? tile.in_first : tile.out_begin + row;
      tile.strip = strip;
      tile.bias_strip = bias_strip + row / kTileSide;
      for (tile.column = 0; tile.column < input.columns; tile.column += kTileSide) {
        tile.columns =
            static_cast<int>(std::min<std::int64_t>(input.columns - tile.column, kTileSide));
        tiles.push_back(tile);
      }
    }
    bias_strip += ceil_div(in_m, kTileSide);
  }
  return tiles;
}

}  // namespace

void for_each_tile(const GroupedInput& input, const OutputRows& output,
                   const std::function<void(const HostTile&, TileValues&)>& work) {
  const std::vector<HostTile> tiles = list_tiles(input, output);
#pragma omp parallel if (tiles.size() > 4)
  {
    TileValues values;
#pragma omp for schedule(dynamic, 4)
    for (std::size_t i = 0; i < tiles.size(); ++i) work(tiles[i], values);
  }
}

void load_tile(const GroupedInput& input, const HostTile& tile, TileValues& values) {
  for (int row = 0; row < kTileSide; ++row) {
    float* line = values.line(row);
    if (row >= tile.in_rows) {
      std::fill_n(line, kTileSide, 0.0F);
      continue;
    }
    const std::int64_t in_row = tile.in_first + row;
    // A tile of a gradient may begin in the gate's columns and end in up's.
    const std::int64_t of_gate =
        std::clamp<std::int64_t>(input.activated_columns() - tile.column, 0, tile.columns);
    load_run(input, in_row, tile.column, of_gate, line);
    load_run(input, in_row, tile.column + of_gate, tile.columns - of_gate, line + of_gate);
    std::fill(line + tile.columns, line + kTileSide, 0.0F);
  }
}

void transpose_tile(TileValues& values) {
  constexpr int kPart = 16;  // fits in registers and a few cache lines
  for (int row = 0; row < kTileSide; row += kPart) {
    for (int column = 0; column < kTileSide; column += kPart) {
      for (int c = column; c < column + kPart; ++c) {
        float* target = values.column(c) + row;
        const float* source = values.line(row) + c;
        for (int r = 0; r < kPart; ++r) target[r] = source[r * kTileSide];
      }
    }
  }
}

void store_bias_partials(const HostTile& tile, TileValues& values, std::int64_t columns,
                         float* partials) {
  if (tile.in_rows == 0) return;
  constexpr int kSegments = 8;
  constexpr int kSegmentRows = kTileSide / kSegments;
  float sums[kSegments][kTileSide] = {};
  for (int segment = 0; segment < kSegments; ++segment) {
    for (int row = segment * kSegmentRows; row < (segment + 1) * kSegmentRows; ++row) {
      const float* line = values.line(row);
      for (int c = 0; c < kTileSide; ++c) sums[segment][c] += line[c];
    }
  }
  float* target = partials + tile.bias_strip * columns + tile.column;
  for (int c = 0; c < tile.columns; ++c) {
    target[c] = ((sums[0][c] + sums[1][c]) + (sums[2][c] + sums[3][c])) +
                ((sums[4][c] + sums[5][c]) + (sums[6][c] + sums[7][c]));
  }
}

}  // namespace kernels

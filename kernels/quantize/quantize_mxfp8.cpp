// CPU twin of MXFP8: tiles in FP32, 32 adjacent elements of a row or column at a time.
#include "kernels/quantize/quantize_mxfp8.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/common/element_run.h"
#include "kernels/common/micro_scale_rule.h"
#include "kernels/common/micro_scales.h"
#include "kernels/common/value_tile.h"

namespace kernels {
namespace {

constexpr int kBlocks = kTileSide / static_cast<int>(kMxBlock);

std::uint8_t scale_byte(float amax, Fp8Format format) {
  const float scaled = amax * std::bit_cast<float>(mx_reciprocal_bits(format));
  return e8m0_round_up(std::bit_cast<std::uint32_t>(scaled));
}

float multiplier(std::uint8_t byte) { return std::bit_cast<float>(mx_multiplier_bits(byte)); }

ElementRun run_of(const float* values, std::int64_t count) {
  return {.input = values, .type = InputType::Fp32, .count = count};
}

/// Scale bytes of a tile, one per 32 elements of a line; lines are rows or columns.
using Bytes = std::uint8_t[kTileSide][kBlocks];

void fill_bytes(TileValues& values, bool transposed, Fp8Format format, Bytes& bytes) {
  for (int line = 0; line < kTileSide; ++line) {
    const float* elements = transposed ? values.column(line) : values.line(line);
    for (int block = 0; block < kBlocks; ++block) {
      bytes[line][block] =
          scale_byte(run_amax(run_of(elements + block * kMxBlock, kMxBlock)), format);
    }
  }
}

/// One byte per 32 x 32 elements: the byte is monotonic in amax, so the largest is the square's.
void share_squares(Bytes& bytes) {
  for (int first = 0; first < kTileSide; first += static_cast<int>(kMxBlock)) {
    for (int block = 0; block < kBlocks; ++block) {
      std::uint8_t largest = 0;
      for (int i = 0; i < kMxBlock; ++i) largest = std::max(largest, bytes[first + i][block]);
      for (int i = 0; i < kMxBlock; ++i) bytes[first + i][block] = largest;
    }
  }
}

void quantize_rows(const QuantizeMxfp8Args& args, const HostTile& tile, TileValues& values,
                   const Bytes& bytes, std::uint8_t* scales) {
  const std::int64_t columns = args.input.columns;
  const std::int64_t per_line = ceil_div(columns, kMxBlock);
  for (int row = 0; row < kTileSide; ++row) {
    for (int block = 0; block < kBlocks; ++block) {
      const std::int64_t x = tile.column / kMxBlock + block;
      if (x >= round_up(per_line, 4)) continue;
      const bool real = row < tile.out_rows && block * kMxBlock < tile.columns;
      const std::int64_t y = tile.row_in_group + row;
      const std::int64_t index = args.layout == MicroScaleLayout::Swizzled
                                     ? swizzled_scale_index(y, x, per_line)
                                     : y * round_up(per_line, 4) + x;
      scales[index] = real ? bytes[row][block] : std::uint8_t{0};
      if (!real) continue;
      const std::int64_t count = std::min<std::int64_t>(kMxBlock, tile.columns - block * kMxBlock);
      cast_run(
          run_of(values.line(row) + block * kMxBlock, count), multiplier(bytes[row][block]),
          args.format,
          args.rowwise.codes + (tile.out_begin + y) * columns + tile.column + block * kMxBlock);
    }
  }
}

/// `bytes` are those of the columns.
void quantize_columns(const QuantizeMxfp8Args& args, const HostTile& tile, TileValues& values,
                      const Bytes& bytes, std::uint8_t* scales) {
  const std::int64_t columns = args.input.columns;
  const std::int64_t per_line = ceil_div(tile.out_m, kMxBlock);
  for (int column = 0; column < kTileSide; ++column) {
    for (int block = 0; block < kBlocks; ++block) {
      const std::int64_t x = tile.row_in_group / kMxBlock + block;
      const std::int64_t y = tile.column + column;
      if (x >= round_up(per_line, 4)) continue;
      const bool real = column < tile.columns && block * kMxBlock < tile.out_rows;
      const std::int64_t index = args.layout == MicroScaleLayout::Swizzled
                                     ? swizzled_scale_index(y, x, per_line)
                                     : x * round_up(columns, 128) + y;
      scales[index] = real ? bytes[column][block] : std::uint8_t{0};
    }
  }
  for (int row = 0; row < tile.out_rows; ++row) {
    std::uint8_t* codes =
        args.columnwise.codes + (tile.out_begin + tile.row_in_group + row) * columns + tile.column;
    float scaled[kTileSide];
    for (int column = 0; column < tile.columns; ++column) {
      scaled[column] = values.line(row)[column] * multiplier(bytes[column][row / kMxBlock]);
    }
    cast_run(run_of(scaled, tile.columns), 1.0F, args.format, codes);
  }
}

}  // namespace

void quantize_mxfp8_cpu(const QuantizeMxfp8Args& args) {
  const MicroScaleBases bases(output_offsets(args.input, args.output_rows), args.input.num_groups,
                              args.input.columns, kMxBlock);
  const bool quantizes = !is_noop(args.controls.noop);
  for_each_tile(args.input, args.output_rows, [&](const HostTile& tile, TileValues& values) {
    load_tile(args.input, tile, values);
    if (args.bias_partials != nullptr) {
      store_bias_partials(tile, values, args.input.columns, args.bias_partials);
    }
    if (!quantizes) return;
    Bytes bytes;
    if (args.rowwise.codes != nullptr) {
      fill_bytes(values, /*transposed=*/false, args.format, bytes);
      if (args.square_blocks) share_squares(bytes);
      quantize_rows(args, tile, values, bytes, args.rowwise.scales + bases.rowwise(tile.group));
    }
    if (args.columnwise.codes != nullptr) {
      transpose_tile(values);
      fill_bytes(values, /*transposed=*/true, args.format, bytes);
      if (args.square_blocks) share_squares(bytes);
      quantize_columns(args, tile, values, bytes,
                       args.columnwise.scales + bases.columnwise(tile.group));
    }
  });
}

}  // namespace kernels

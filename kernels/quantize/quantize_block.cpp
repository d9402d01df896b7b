// CPU twins of FP8 block scaling. Rowwise codes of unpadded rows: a block is read for its amax and
// again, from cache, for its cast; blocks are independent, so they are split evenly over threads.
// Everything else goes through tiles in FP32.
#include "kernels/quantize/quantize_block.h"

#include <algorithm>
#include <vector>

#include "kernels/common/element_run.h"
#include "kernels/common/value_tile.h"

namespace kernels {
namespace {

/// A rectangle of the input that shares one scale.
struct Block {
  std::int64_t row = 0;
  std::int64_t rows = 1;
  std::int64_t column = 0;
  std::int64_t scale_index = 0;
};

void quantize_one_block(const QuantizeBlockArgs& args, const ScaleRule& rule, const Block& block) {
  const GroupedInput& input = args.input;
  ElementRun run{.input = input.input,
                 .type = input.type,
                 .count = std::min<std::int64_t>(args.block, input.columns - block.column)};
  float amax = 0.0F;
  for (std::int64_t row = block.row; row < block.row + block.rows; ++row) {
    run.first = row * input.columns + block.column;
    amax = std::max(amax, run_amax(run));
  }
  const float scale = scale_from_amax(amax, rule);
  args.rowwise.scale_inv[block.scale_index] = 1.0F / scale;
  if (args.rowwise.block_amax != nullptr) args.rowwise.block_amax[block.scale_index] = amax;
  for (std::int64_t row = block.row; row < block.row + block.rows; ++row) {
    run.first = row * input.columns + block.column;
    cast_run(run, scale, args.format, args.rowwise.codes + run.first);
  }
}

void quantize_row_lines(const QuantizeBlockArgs& args) {
  const GroupedInput& input = args.input;
  const ScaleRule rule = block_scale_rule(args);
  const std::int64_t blocks_per_row = ceil_div(input.columns, args.block);
  std::vector<std::int64_t> padded_offsets(static_cast<std::size_t>(input.num_groups) + 1, 0);
  for (std::size_t group = 0; group + 1 < padded_offsets.size(); ++group) {
    const std::int64_t rows = input.row_offsets[group + 1] - input.row_offsets[group];
    padded_offsets[group + 1] = padded_offsets[group] + round_up(rows, 4);
  }
  const std::int64_t rows = active_rows(input);
#pragma omp parallel for schedule(static) if (rows * input.columns > kThreadedElements)
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto group = static_cast<std::size_t>(group_of_row(input, row));
    const std::int64_t padded_rows = padded_offsets[group + 1] - padded_offsets[group];
    const std::int64_t first_scale =
        blocks_per_row * padded_offsets[group] + row - input.row_offsets[group];
    for (std::int64_t bx = 0; bx < blocks_per_row; ++bx) {
      quantize_one_block(
          args, rule,
          {.row = row, .column = bx * args.block, .scale_index = first_scale + bx * padded_rows});
    }
  }
}

void quantize_row_squares(const QuantizeBlockArgs& args) {
  const GroupedInput& input = args.input;
  const ScaleRule rule = block_scale_rule(args);
  const std::int64_t blocks_per_row = ceil_div(input.columns, kBlock);
  const std::int64_t scales_per_row = round_up(blocks_per_row, 4);
  std::vector<Block> strips;  // 128 rows of one group, or the remainder
  for (int group = 0; group < input.num_groups; ++group) {
    const std::int64_t end = input.row_offsets[group + 1];
    for (std::int64_t row = input.row_offsets[group]; row < end; row += kBlock) {
      strips.push_back({.row = row,
                        .rows = std::min(kBlock, end - row),
                        .scale_index = static_cast<std::int64_t>(strips.size()) * scales_per_row});
    }
  }
  const std::int64_t blocks = static_cast<std::int64_t>(strips.size()) * blocks_per_row;
#pragma omp parallel for schedule(static) if (blocks * kBlock * kBlock > kThreadedElements)
  for (std::int64_t i = 0; i < blocks; ++i) {
    const std::int64_t bx = i % blocks_per_row;
    Block block = strips[static_cast<std::size_t>(i / blocks_per_row)];
    block.column = bx * kBlock;
    block.scale_index += bx;
    quantize_one_block(args, rule, block);
  }
}

/// Whether exactly the rows of the input are read and written, in the same order.
bool is_rowwise_only(const QuantizeBlockArgs& args) {
  return args.columnwise.codes == nullptr && args.bias_partials == nullptr &&
         args.output_rows.row_offsets == nullptr && args.input.activation.is_none();
}

/// Prefix sums over the groups of the units to which their scales are padded.
std::vector<std::int64_t> scale_units(const QuantizeBlockArgs& args, std::int64_t rows_per_unit) {
  // Rowwise 1x128 scales follow the rowwise rows; padding does not change units of 512 rows.
  const std::int64_t* out = args.output_rows.columnwise_only
                                ? args.input.row_offsets
                                : output_offsets(args.input, args.output_rows);
  std::vector<std::int64_t> sums = {0};
  for (int group = 0; group < args.input.num_groups; ++group) {
    sums.push_back(sums.back() + ceil_div(out[group + 1] - out[group], rows_per_unit));
  }
  return sums;
}

/// Rows of blocks in the groups before each one, in the outputs.
std::vector<std::int64_t> block_rows_before(const QuantizeBlockArgs& args) {
  const std::int64_t* out = output_offsets(args.input, args.output_rows);
  std::vector<std::int64_t> sums = {0};
  for (int group = 0; group < args.input.num_groups; ++group) {
    sums.push_back(sums.back() + ceil_div(out[group + 1] - out[group], args.block));
  }
  return sums;
}

/// The part of a row or column that lies in a tile.
struct TileLine {
  const float* values = nullptr;
  std::int64_t count = 0;
  std::uint8_t* codes = nullptr;
  std::int64_t scale_index = 0;   // of its first block
  std::int64_t scale_stride = 0;  // to that of the next
};

/// Amax, scale and codes, block by block.
void quantize_line(const TileLine& line, const QuantizeBlockArgs& args, const ScaleRule& rule,
                   const BlockOutput& output) {
  std::int64_t index = line.scale_index;
  for (std::int64_t at = 0; at < line.count; at += args.block) {
    const ElementRun run{.input = line.values + at,
                         .type = InputType::Fp32,
                         .count = std::min<std::int64_t>(args.block, line.count - at)};
    const float amax = run_amax(run);
    const float scale = scale_from_amax(amax, rule);
    output.scale_inv[index] = 1.0F / scale;
    if (output.block_amax != nullptr) output.block_amax[index] = amax;
    cast_run(run, scale, args.format, line.codes + at);
    index += line.scale_stride;
  }
}

std::uint8_t* row_codes(const QuantizeBlockArgs& args, const HostTile& tile, int row) {
  return args.rowwise.codes + (tile.rowwise_first + row) * args.input.columns + tile.column;
}

std::uint8_t* column_codes(const QuantizeBlockArgs& args, const HostTile& tile, int column) {
  const std::int64_t line = tile.column + column;
  if (args.output_rows.joined) {
    return args.columnwise.codes + line * args.output_rows.capacity_rows + tile.out_begin +
           tile.row_in_group;
  }
  return args.columnwise.codes + tile.out_begin * args.input.columns + line * tile.out_m +
         tile.row_in_group;
}

void quantize_tile_lines(const QuantizeBlockArgs& args) {
  const ScaleRule rule = block_scale_rule(args);
  const std::int64_t blocks_per_row = ceil_div(args.input.columns, args.block);
  const std::vector<std::int64_t> quads = scale_units(args, 4);
  const std::vector<std::int64_t> block_rows = block_rows_before(args);
  const bool quantizes = !is_noop(args.controls.noop);
  for_each_tile(args.input, args.output_rows, [&](const HostTile& tile, TileValues& values) {
    load_tile(args.input, tile, values);
    if (args.bias_partials != nullptr) {
      store_bias_partials(tile, values, args.input.columns, args.bias_partials);
    }
    if (!quantizes) return;
    const auto group = static_cast<std::size_t>(tile.group);
    if (args.rowwise.codes != nullptr) {
      const std::int64_t pitch = round_up(tile.rowwise_m, 4);
      for (int row = 0; row < tile.rowwise_rows; ++row) {
        quantize_line({.values = values.line(row),
                       .count = tile.columns,
                       .codes = row_codes(args, tile, row),
                       .scale_index = 4 * quads[group] * blocks_per_row +
                                      tile.column / args.block * pitch + tile.row_in_group + row,
                       .scale_stride = pitch},
                      args, rule, args.rowwise);
      }
    }
    if (args.columnwise.codes != nullptr) {
      transpose_tile(values);
      for (int column = 0; column < tile.columns; ++column) {
        quantize_line({.values = values.column(column),
                       .count = tile.out_rows,
                       .codes = column_codes(args, tile, column),
                       .scale_index = (block_rows[group] + tile.row_in_group / args.block) *
                                          args.input.columns +
                                      tile.column + column,
                       .scale_stride = args.input.columns},
                      args, rule, args.columnwise);
      }
    }
  });
}

void quantize_tile_squares(const QuantizeBlockArgs& args) {
  const ScaleRule rule = block_scale_rule(args);
  const std::int64_t blocks_per_row = ceil_div(args.input.columns, kBlock);
  const std::vector<std::int64_t> units = scale_units(args, 4 * kBlock);
  const bool quantizes = !is_noop(args.controls.noop);
  for_each_tile(args.input, args.output_rows, [&](const HostTile& tile, TileValues& values) {
    load_tile(args.input, tile, values);
    if (args.bias_partials != nullptr) {
      store_bias_partials(tile, values, args.input.columns, args.bias_partials);
    }
    if (!quantizes) return;
    const float amax = run_amax(
        {.input = values.line(0), .type = InputType::Fp32, .count = kTileSide * kTileSide});
    const float scale = scale_from_amax(amax, rule);
    const std::int64_t bx = tile.column / kBlock;
    const auto store_scale = [&](const BlockOutput& output, std::int64_t index) {
      output.scale_inv[index] = 1.0F / scale;
      if (output.block_amax != nullptr) output.block_amax[index] = amax;
    };
    if (args.rowwise.codes != nullptr) {
      store_scale(args.rowwise, tile.strip * round_up(blocks_per_row, 4) + bx);
      for (int row = 0; row < tile.rowwise_rows; ++row) {
        cast_run({.input = values.line(row), .type = InputType::Fp32, .count = tile.columns}, scale,
                 args.format, row_codes(args, tile, row));
      }
    }
    if (args.columnwise.codes != nullptr) {
      store_scale(args.columnwise,
                  4 * units[static_cast<std::size_t>(tile.group)] * blocks_per_row +
                      bx * round_up(ceil_div(tile.out_m, kBlock), 4) + tile.row_in_group / kBlock);
      transpose_tile(values);
      for (int column = 0; column < tile.columns; ++column) {
        cast_run({.input = values.column(column), .type = InputType::Fp32, .count = tile.out_rows},
                 scale, args.format, column_codes(args, tile, column));
      }
    }
  });
}

}  // namespace

void quantize_block_lines_cpu(const QuantizeBlockArgs& args) {
  if (is_rowwise_only(args)) {
    if (!is_noop(args.controls.noop)) quantize_row_lines(args);
  } else {
    quantize_tile_lines(args);
  }
}

void quantize_block_squares_cpu(const QuantizeBlockArgs& args) {
  if (is_rowwise_only(args)) {
    if (!is_noop(args.controls.noop)) quantize_row_squares(args);
  } else {
    quantize_tile_squares(args);
  }
}

}  // namespace kernels

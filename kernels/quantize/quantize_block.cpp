// CPU twins of FP8 block scaling. A block is read for its amax and read again, from cache, for
// its cast; blocks are independent, so threads share them out evenly.
#include "kernels/quantize/quantize_block.h"

#include <algorithm>
#include <vector>

#include "kernels/common/group_rows.h"
#include "kernels/common/row_cast.h"
#include "kernels/common/scale_rule.h"

namespace kernels {
namespace {

ScaleRule block_rule(const QuantizeBlockArgs& args) {
  return {.format_max = fp8_max(args.format),
          .pow2 = args.options.pow2,
          .amax_epsilon = args.options.amax_epsilon,
          .inf_value = input_max(args.input.type)};
}

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
                 .count = std::min(kBlock, input.columns - block.column)};
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

}  // namespace

void quantize_block_1x128_cpu(const QuantizeBlockArgs& args) {
  const GroupedInput& input = args.input;
  const ScaleRule rule = block_rule(args);
  const std::int64_t blocks_per_row = ceil_div(input.columns, kBlock);
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
          {.row = row, .column = bx * kBlock, .scale_index = first_scale + bx * padded_rows});
    }
  }
}

void quantize_block_128x128_cpu(const QuantizeBlockArgs& args) {
  const GroupedInput& input = args.input;
  const ScaleRule rule = block_rule(args);
  const std::int64_t blocks_per_row = ceil_div(input.columns, kBlock);
  const std::int64_t scales_per_row = round_up(blocks_per_row, 4);
  std::vector<Block> strips;  // 128 rows of one group, or what is left of it
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

}  // namespace kernels

// CPU twin of NVFP4: tiles in FP32, 16 adjacent elements of a row or column at a time.
#include "kernels/quantize/quantize_nvfp4.h"

#include <algorithm>
#include <vector>

#include "kernels/common/element_run.h"
#include "kernels/common/fp8_codes.h"
#include "kernels/common/input_elements.h"
#include "kernels/common/micro_scale_rule.h"
#include "kernels/common/micro_scales.h"
#include "kernels/common/philox.h"
#include "kernels/common/value_tile.h"

namespace kernels {

namespace {

/// Transforms every 16 elements of every column and rounds to BF16.
void transform_columns(TileValues& values) {
  for (int column = 0; column < kTileSide; ++column) {
    for (int row = 0; row < kTileSide; row += 16) {
      float x[16];
      for (int i = 0; i < 16; ++i) x[i] = values.column(column)[row + i];
      hadamard_16(x);
      for (int i = 0; i < 16; ++i) {
        values.column(column)[row + i] = InputElement<InputType::Bf16>::value(round_to_bf16(x[i]));
      }
    }
  }
}

constexpr int kBlockElements = static_cast<int>(kNvBlock);
constexpr int kBlocks = kTileSide / kBlockElements;

using Bytes = std::uint8_t[kTileSide][kBlocks];

/// Block scales of every line (row or column) of the tile.
void fill_scales(TileValues& values, bool transposed, bool square, float encode_sixth,
                 Bytes& scales) {
  float amax[kTileSide][kBlocks];
  for (int line = 0; line < kTileSide; ++line) {
    const float* elements = transposed ? values.column(line) : values.line(line);
    for (int block = 0; block < kBlocks; ++block) {
      amax[line][block] = run_amax({.input = elements + block * kBlockElements,
                                    .type = InputType::Fp32,
                                    .count = kBlockElements});
    }
  }
  for (int line = 0; line < kTileSide; ++line) {
    for (int block = 0; block < kBlocks; ++block) {
      float largest = amax[line][block];
      if (square) {
        const int first = line / kBlockElements * kBlockElements;
        for (int i = 0; i < kBlockElements; ++i)
          largest = std::max(largest, amax[first + i][block]);
      }
      scales[line][block] = fp8_encode<Fp8Format::E4m3>(largest * encode_sixth);
    }
  }
}

struct Rounding {
  bool stochastic = false;
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
};

/// Encodes sixteen elements as eight bytes. `block_number` counts blocks in the order of the codes.
void encode_block(const float* values, float multiplier, const Rounding& rounding,
                  std::uint64_t block_number, std::uint8_t* codes) {
  PhiloxWords random = {};
  if (rounding.stochastic) random = philox4x32(block_number, rounding.offset, rounding.seed);
  for (int i = 0; i < kBlockElements; i += 2) {
    std::uint32_t pair[2];
    for (int j = 0; j < 2; ++j) {
      const float value = values[i + j] * multiplier;
      const std::uint32_t byte = random.words[(i + j) / 4] >> (8 * ((i + j) % 4)) & 0xFFU;
      pair[j] = rounding.stochastic ? e2m1_encode_stochastic(value, byte) : e2m1_encode(value);
    }
    codes[i / 2] = static_cast<std::uint8_t>(pair[0] | pair[1] << 4);
  }
}

/// One direction of a tile. Lines are rows, or columns of the transposed tile.
struct Direction {
  bool transposed;
  int lines;              // real lines of the tile
  int blocks;             // real blocks per line
  std::int64_t y;         // index of the first line
  std::int64_t x;         // index of the first block
  std::int64_t per_line;  // blocks per whole line
  std::int64_t codes;     // byte offset of the first code
  std::int64_t pitch;     // bytes from line to line
  const Nvfp4Output& output;
  std::int64_t scale_base;
};

void quantize_direction(const QuantizeNvfp4Args& args, const Direction& direction, int group,
                        const Rounding& rounding, TileValues& values) {
  const Nvfp4GlobalScale global = nvfp4_global_scale(direction.output.amax[group]);
  Bytes scales;
  fill_scales(values, direction.transposed, args.square_blocks, global.encode_sixth, scales);
  std::uint8_t* const scale_bytes = direction.output.scales + direction.scale_base;
  for (int line = 0; line < kTileSide; ++line) {
    for (int block = 0; block < kBlocks; ++block) {
      const std::int64_t y = direction.y + line;
      const std::int64_t x = direction.x + block;
      if (x >= round_up(direction.per_line, 4)) continue;
      const bool real = line < direction.lines && block < direction.blocks;
      const std::int64_t index = args.layout == MicroScaleLayout::Swizzled
                                     ? swizzled_scale_index(y, x, direction.per_line)
                                     : y * round_up(direction.per_line, 4) + x;
      scale_bytes[index] = real ? scales[line][block] : std::uint8_t{0};
      if (!real) continue;
      const std::int64_t byte = direction.codes + line * direction.pitch + block * 8;
      const float* elements =
          (direction.transposed ? values.column(line) : values.line(line)) + block * kBlockElements;
      encode_block(
          elements, nvfp4_multiplier(kE4m3Values[scales[line][block]], global), rounding,
          static_cast<std::uint64_t>(byte / 8) | (direction.transposed ? kColumnwiseBlockBit : 0),
          direction.output.codes + byte);
    }
  }
}

}  // namespace

void nvfp4_amax_cpu(const Nvfp4AmaxArgs& args) {
  if (is_noop(args.noop)) return;
  const auto groups = static_cast<std::size_t>(args.input.num_groups);
  for (float* amax : {args.rowwise_amax, args.columnwise_amax}) {
    if (amax != nullptr) std::fill_n(amax, groups, 0.0F);
  }
  const auto raise = [](float* amax, int group, const float* values) {
    const float largest = run_amax(
        {.input = values, .type = InputType::Fp32, .count = std::int64_t{kTileSide} * kTileSide});
#pragma omp critical(nvfp4_amax)
    amax[group] = std::max(amax[group], largest);
  };
  for_each_tile(args.input, {}, [&](const HostTile& tile, TileValues& values) {
    load_tile(args.input, tile, values);
    if (args.rowwise_amax != nullptr) raise(args.rowwise_amax, tile.group, values.line(0));
    if (args.columnwise_amax == nullptr) return;
    transpose_tile(values);
    if (args.hadamard) transform_columns(values);
    raise(args.columnwise_amax, tile.group, values.column(0));
  });
}

void quantize_nvfp4_cpu(const QuantizeNvfp4Args& args) {
  if (is_noop(args.controls.noop)) return;
  const std::int64_t columns = args.input.columns;
  const MicroScaleBases bases(output_offsets(args.input, args.output_rows), args.input.num_groups,
                              args.input.columns, kNvBlock);
  const std::int64_t* out = output_offsets(args.input, args.output_rows);
  std::vector<std::int64_t> blocks_before = {0};  // of 16 rows, columnwise
  for (int group = 0; group < args.input.num_groups; ++group) {
    blocks_before.push_back(blocks_before.back() + ceil_div(out[group + 1] - out[group], kNvBlock));
  }
  Rounding rounding{.stochastic = args.stochastic_rounding};
  if (rounding.stochastic) {
    rounding.seed = args.random_state[0];
    rounding.offset = args.random_state[1];
  }
  for_each_tile(args.input, args.output_rows, [&](const HostTile& tile, TileValues& values) {
    load_tile(args.input, tile, values);
    if (args.rowwise.codes != nullptr) {
      quantize_direction(
          args,
          {.transposed = false,
           .lines = tile.out_rows,
           .blocks = tile.columns / kBlockElements,
           .y = tile.row_in_group,
           .x = tile.column / kNvBlock,
           .per_line = columns / kNvBlock,
           .codes = ((tile.out_begin + tile.row_in_group) * columns + tile.column) / 2,
           .pitch = columns / 2,
           .output = args.rowwise,
           .scale_base = bases.rowwise(tile.group)},
          tile.group, rounding, values);
    }
    if (args.columnwise.codes == nullptr) return;
    transpose_tile(values);
    if (args.hadamard) transform_columns(values);
    const std::int64_t pitch = ceil_div(tile.out_m, kNvBlock) * 8;
    quantize_direction(args,
                       {.transposed = true,
                        .lines = tile.columns,
                        .blocks = static_cast<int>(ceil_div(tile.out_rows, kNvBlock)),
                        .y = tile.column,
                        .x = tile.row_in_group / kNvBlock,
                        .per_line = ceil_div(tile.out_m, kNvBlock),
                        .codes = blocks_before[static_cast<std::size_t>(tile.group)] * 8 * columns +
                                 tile.column * pitch + tile.row_in_group / 2,
                        .pitch = pitch,
                        .output = args.columnwise,
                        .scale_base = bases.columnwise(tile.group)},
                       tile.group, rounding, values);
  });
}

}  // namespace kernels

// CPU twin of per-tensor scaling: the scale of every group, then one cast per row, or tiles in FP32
// if columns, padded rows, an activation or sums are requested.
#include "kernels/quantize/quantize_per_tensor.h"

#include <algorithm>
#include <vector>

#include "kernels/amax/group_amax.h"
#include "kernels/common/element_run.h"
#include "kernels/common/scale_rule.h"
#include "kernels/common/value_tile.h"

namespace kernels {
namespace {

void cast_rows(const QuantizePerTensorArgs& args) {
  const GroupedInput& input = args.input;
  const std::int64_t rows = active_rows(input);
#pragma omp parallel for schedule(static) if (rows * input.columns > kThreadedElements)
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t first = row * input.columns;
    cast_run({.input = input.input, .type = input.type, .first = first, .count = input.columns},
             args.scale[group_of_row(input, row)], args.format, args.rowwise + first);
  }
}

void cast_tiles(const QuantizePerTensorArgs& args, bool quantizes) {
  const std::int64_t columns = args.input.columns;
  for_each_tile(args.input, args.output_rows, [&](const HostTile& tile, TileValues& values) {
    load_tile(args.input, tile, values);
    if (args.bias_partials != nullptr) {
      store_bias_partials(tile, values, columns, args.bias_partials);
    }
    if (!quantizes) return;
    const float scale = args.scale[tile.group];
    if (args.rowwise != nullptr) {
      for (int row = 0; row < tile.rowwise_rows; ++row) {
        cast_run({.input = values.line(row), .type = InputType::Fp32, .count = tile.columns}, scale,
                 args.format, args.rowwise + (tile.rowwise_first + row) * columns + tile.column);
      }
    }
    if (args.columnwise != nullptr) {
      transpose_tile(values);
      for (int column = 0; column < tile.columns; ++column) {
        cast_run({.input = values.column(column), .type = InputType::Fp32, .count = tile.out_rows},
                 scale, args.format,
                 args.columnwise + tile.out_begin * columns + (tile.column + column) * tile.out_m +
                     tile.row_in_group);
      }
    }
  });
}

}  // namespace

void per_tensor_scale_cpu(const PerTensorScaleArgs& args) {
  if (is_noop(args.noop)) return;
  const ScaleRule rule = scale_rule(args.format, args.options, kLargestFloat);
  for (int group = 0; group < args.num_groups; ++group) {
    const float scale = scale_from_amax(args.amax[group], rule);
    args.scale[group] = scale;
    args.scale_inv[group] = 1.0F / scale;
  }
}

void quantize_per_tensor_cpu(const QuantizePerTensorArgs& args) {
  const bool quantizes = !is_noop(args.controls.noop);
  const int groups = args.input.num_groups;
  if (quantizes && args.scale_inv != nullptr) {
    for (int group = 0; group < groups; ++group) args.scale_inv[group] = 1.0F / args.scale[group];
  }
  if (quantizes && args.amax != nullptr) {
    std::vector<float> amax(static_cast<std::size_t>(groups));
    group_amax_cpu({.input = args.input, .amax = amax.data()});
    for (int group = 0; group < groups; ++group) {
      args.amax[group] = std::max(args.amax[group], amax[static_cast<std::size_t>(group)]);
    }
  }
  if (args.columnwise != nullptr || args.output_rows.row_offsets != nullptr ||
      args.bias_partials != nullptr || !args.input.activation.is_none()) {
    cast_tiles(args, quantizes);
  } else if (quantizes) {
    cast_rows(args);
  }
}

}  // namespace kernels

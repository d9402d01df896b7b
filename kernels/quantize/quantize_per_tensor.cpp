// CPU twin of per-tensor current scaling: the scale of every group, then one cast a row.
#include "kernels/quantize/quantize_per_tensor.h"

#include <limits>

#include "kernels/common/group_rows.h"
#include "kernels/common/row_cast.h"
#include "kernels/common/scale_rule.h"

namespace kernels {

void per_tensor_scale_cpu(const PerTensorScaleArgs& args) {
  const ScaleRule rule{.format_max = fp8_max(args.format),
                       .pow2 = args.options.pow2,
                       .amax_epsilon = args.options.amax_epsilon,
                       .inf_value = std::numeric_limits<float>::max()};
  for (int group = 0; group < args.num_groups; ++group) {
    const float scale = scale_from_amax(args.amax[group], rule);
    args.scale[group] = scale;
    args.scale_inv[group] = 1.0F / scale;
  }
}

void quantize_per_tensor_cpu(const QuantizePerTensorArgs& args) {
  const GroupedInput& input = args.input;
  const std::int64_t rows = active_rows(input);
#pragma omp parallel for schedule(static) if (rows * input.columns > kThreadedElements)
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t first = row * input.columns;
    cast_run({.input = input.input, .type = input.type, .first = first, .count = input.columns},
             args.scale[group_of_row(input, row)], args.format, args.rowwise + first);
  }
}

}  // namespace kernels

// Dequantize on the CPU: one table look-up and one FP32 product an element, rounded once as the
// device does it.
#include "kernels/dequantize/dequantize.h"

#include "kernels/dequantize/fp8_decode.h"
#include "kernels/dequantize/group_scales.h"

namespace kernels {

namespace {

constexpr std::int64_t kElementsPerTask = 1 << 16;

}  // namespace

float fp8_to_float(std::uint8_t code, Fp8Format format) { return fp8_values(format)[code]; }

void dequantize_cpu(const DequantizeArgs& args) {
  const Fp8Values& values = fp8_values(args.format);
  const std::vector<GroupScales> scales =
      group_scales(args.layout, args.scale_inv, args.row_offsets, args.num_groups, args.columns);
  const std::vector<RowTask> tasks =
      row_tasks(args.row_offsets, args.num_groups, args.columns, kElementsPerTask);
  // One scale holds for a whole row or for 128 columns of it.
  const std::int64_t step = args.layout == ScaleLayout::PerTensor ? args.columns : kBlock;
#pragma omp parallel for schedule(dynamic)
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const RowTask& task = tasks[t];
    const GroupScales& group = scales[static_cast<std::size_t>(task.group)];
    for (std::int64_t row = task.first_row; row < task.last_row; ++row) {
      const std::int64_t start = (args.row_offsets[task.group] + row) * args.columns;
      for (std::int64_t column = 0; column < args.columns; column += step) {
        const float scale_inv = group.at(row, column);
        const std::uint8_t* codes = args.codes + start + column;
        float* output = args.output + start + column;
        const std::int64_t count = std::min(step, args.columns - column);
        for (std::int64_t i = 0; i < count; ++i) output[i] = values[codes[i]] * scale_inv;
      }
    }
  }
}

}  // namespace kernels

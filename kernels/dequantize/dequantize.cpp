// Dequantize on the CPU: patch by patch through decode_patch.h, rounding each element once, as on
// the device.
#include "kernels/dequantize/dequantize.h"

#include <algorithm>

#include "kernels/common/element_run.h"
#include "kernels/dequantize/decode_patch.h"

namespace kernels {

void dequantize_cpu(const DequantizeArgs& args) {
  const QuantizedView& view = args.quantized;
  const std::int64_t* offsets = args.row_offsets != nullptr ? args.row_offsets : view.row_offsets;
  std::vector<std::int64_t> rows;
  for (int group = 0; group < view.num_groups; ++group) {
    rows.push_back(std::min(offsets[group + 1] - offsets[group],
                            view.row_offsets[group + 1] - view.row_offsets[group]));
  }
  const std::vector<GroupView> groups = group_views(view);
  const std::vector<PatchPlace> places = patch_places(rows, view.columns, patch_shape(view));
#pragma omp parallel
  {
    DecodedPatch patch;
#pragma omp for schedule(dynamic, 8)
    for (std::size_t p = 0; p < places.size(); ++p) {
      const PatchPlace& place = places[p];
      decode_patch(view, groups[static_cast<std::size_t>(place.group)], place, patch);
      for (int r = 0; r < place.rows; ++r) {
        round_run(patch.values.data() + r * place.columns, place.columns, args.output_type,
                  args.output,
                  (offsets[place.group] + place.row + r) * view.columns + place.column);
      }
    }
  }
}

}  // namespace kernels

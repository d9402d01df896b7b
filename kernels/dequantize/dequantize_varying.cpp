// CPU twin: the plain twin for one group after another.
#include "kernels/dequantize/dequantize_varying.h"

#include <array>

namespace kernels {

void dequantize_varying_cpu(const DequantizeVaryingArgs& args) {
  const QuantizedView& view = args.whole.quantized;
  for (int group = 0; group < view.num_groups; ++group) {
    const GroupPlace place = place_of_group(view.row_offsets, args.groups, args.places, group);
    if (place.rows == 0 || place.columns == 0) continue;
    const std::array<std::int64_t, 2> rows = {0, place.rows};
    DequantizeArgs own = group_arguments(args, place);
    own.quantized.row_offsets = rows.data();
    dequantize_cpu(own);
  }
}

}  // namespace kernels

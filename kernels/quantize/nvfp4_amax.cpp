// CPU twin of the two global maxima of NVFP4.
#include <algorithm>
#include <vector>

#include "kernels/common/row_cast.h"
#include "kernels/quantize/nvfp4_tile.h"
#include "kernels/quantize/quantize_nvfp4.h"

namespace kernels {

void nvfp4_amax_cpu(const Nvfp4AmaxArgs& args) {
  if (args.noop != nullptr && *args.noop == 1.0F) return;
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

}  // namespace kernels

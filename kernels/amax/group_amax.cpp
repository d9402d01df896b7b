// CPU twin of the amax kernel. A maximum does not depend on the order of its operands, so rows
// can be spread over threads regardless of group sizes.
#include "kernels/amax/group_amax.h"

#include <algorithm>
#include <atomic>

#include "kernels/common/element_run.h"
#include "kernels/common/value_tile.h"

namespace kernels {
namespace {

void raise_to(float& target, float candidate) {
  const std::atomic_ref<float> shared(target);
  float seen = shared.load(std::memory_order_relaxed);
  while (seen < candidate &&
         !shared.compare_exchange_weak(seen, candidate, std::memory_order_relaxed)) {
  }
}

}  // namespace

void group_amax_cpu(const GroupAmaxArgs& args) {
  const GroupedInput& input = args.input;
  if (is_noop(args.noop)) return;
  std::fill_n(args.amax, input.num_groups, 0.0F);
  if (!input.activation.is_none()) {
    for_each_tile(input, {}, [&](const HostTile& tile, TileValues& values) {
      load_tile(input, tile, values);
      raise_to(args.amax[tile.group], run_amax({.input = values.line(0),
                                                .type = InputType::Fp32,
                                                .count = std::int64_t{kTileSide} * kTileSide}));
    });
    return;
  }
  const std::int64_t rows = active_rows(input);
#pragma omp parallel for schedule(static) if (rows * input.columns > kThreadedElements)
  for (std::int64_t row = 0; row < rows; ++row) {
    const float amax = run_amax({.input = input.input,
                                 .type = input.type,
                                 .first = row * input.columns,
                                 .count = input.columns});
    raise_to(args.amax[group_of_row(input, row)], amax);
  }
}

}  // namespace kernels

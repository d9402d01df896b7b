// CPU twins of the bias gradient, in the order defined in bias.h.
#include "kernels/bias/bias.h"

#include <algorithm>
#include <vector>

#include "kernels/common/element_run.h"
#include "kernels/common/value_tile.h"

namespace kernels {

void add_bias_cpu(const AddBiasArgs& args) {
  const std::int64_t columns = args.columns;
  std::vector<float> bias(static_cast<std::size_t>(columns));
  for (int group = 0; group < args.num_groups; ++group) {
    widen_run(
        {.input = args.bias, .type = args.bias_type, .first = group * columns, .count = columns},
        bias.data());
#pragma omp parallel
    {
      std::vector<float> sums(bias.size());
#pragma omp for schedule(static)
      for (std::int64_t row = args.row_offsets[group]; row < args.row_offsets[group + 1]; ++row) {
        const std::int64_t first = row * columns;
        widen_run({.input = args.values, .type = args.type, .first = first, .count = columns},
                  sums.data());
        for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += bias[c];
        round_run(sums.data(), columns, args.type, args.values, first);
      }
    }
  }
}

void bias_partials_cpu(const BiasPartialsArgs& args) {
  for_each_tile(args.input, {}, [&](const HostTile& tile, TileValues& values) {
    load_tile(args.input, tile, values);
    store_bias_partials(tile, values, args.input.columns, args.partials);
  });
}

void reduce_bias_gradient_cpu(const ReduceBiasGradientArgs& args) {
  const std::int64_t columns = args.columns;
  const float* partials = args.partials;
  std::vector<float> sums(static_cast<std::size_t>(columns));
  std::vector<float> before(sums.size());
  for (int group = 0; group < args.num_groups; ++group) {
    std::fill(sums.begin(), sums.end(), 0.0F);
    const std::int64_t strips =
        ceil_div(args.row_offsets[group + 1] - args.row_offsets[group], kBiasStripRows);
    for (std::int64_t strip = 0; strip < strips; ++strip, partials += columns) {
      for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += partials[c];
    }
    const std::int64_t first = group * columns;
    if (args.accumulate) {
      widen_run(
          {.input = args.gradient, .type = args.output_type, .first = first, .count = columns},
          before.data());
      for (std::size_t c = 0; c < sums.size(); ++c) sums[c] = before[c] + sums[c];
    }
    round_run(sums.data(), columns, args.output_type, args.gradient, first);
  }
}

}  // namespace kernels

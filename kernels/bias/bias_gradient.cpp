// CPU twins of the bias gradient, in the order defined in bias_gradient.h.
#include "kernels/bias/bias_gradient.h"

#include "kernels/common/activate_run.h"
#include "kernels/common/input_elements.h"
#include "kernels/common/value_tile.h"

namespace kernels {

void bias_partials_cpu(const BiasPartialsArgs& args) {
  for_each_tile(args.input, {}, [&](const HostTile& tile, TileValues& values) {
    load_tile(args.input, tile, values);
    store_bias_partials(tile, values, args.input.columns, args.partials);
  });
}

void reduce_bias_gradient_cpu(const ReduceBiasGradientArgs& args) {
  std::int64_t strip = 0;
  for (int group = 0; group < args.num_groups; ++group) {
    const std::int64_t strips =
        ceil_div(args.row_offsets[group + 1] - args.row_offsets[group], kBiasStripRows);
    for (std::int64_t column = 0; column < args.columns; ++column) {
      float sum = 0.0F;
      for (std::int64_t s = strip; s < strip + strips; ++s) {
        sum += args.partials[s * args.columns + column];
      }
      const std::int64_t index = group * args.columns + column;
      if (args.output_type == InputType::Fp32) {
        float& target = static_cast<float*>(args.gradient)[index];
        target = args.accumulate ? target + sum : sum;
        continue;
      }
      const bool bf16 = args.output_type == InputType::Bf16;
      std::uint16_t& target = static_cast<std::uint16_t*>(args.gradient)[index];
      if (args.accumulate) {
        sum = (bf16 ? InputElement<InputType::Bf16>::value(target)
                    : InputElement<InputType::Fp16>::value(target)) +
              sum;
      }
      target = bf16 ? round_to_bf16(sum) : round_to_fp16(sum);
    }
    strip += strips;
  }
}

}  // namespace kernels

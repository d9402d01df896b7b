// The scale of one block, shared by the two block kernels: its rule on the host, its value and the
// two stores on the device.
#pragma once

#include "kernels/common/scale_rule.h"
#include "kernels/quantize/quantize_block.h"

namespace kernels {

inline ScaleRule block_scale_rule(const QuantizeBlockArgs& args) {
  return {.format_max = fp8_max(args.format),
          .pow2 = args.options.pow2,
          .amax_epsilon = args.options.amax_epsilon,
          .inf_value = input_max(args.input.type)};
}

/// Stores the inverse scale that a product needs, and the amax if requested.
__device__ __forceinline__ void store_block_scale(const BlockOutput& output, float amax,
                                                  float scale, std::int64_t index) {
  output.scale_inv[index] = __frcp_rn(scale);
  if (output.block_amax != nullptr) output.block_amax[index] = amax;
}

}  // namespace kernels

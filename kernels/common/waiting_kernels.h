// Which kernels wait for their predecessor before they touch memory, by symbol: needed to interpret
// a programmatic edge of a captured graph, and not reported by the driver. The test
// tests/unit/kernels/waiting_kernels_test.py checks the list against the machine code.
#pragma once

#include <array>
#include <string_view>

namespace kernels {

/// As in a mangled symbol: length, then name.
inline constexpr std::array<std::string_view, 26> kWaitingKernels = {
    "24splits_to_offsets_kernel",
    "22varying_offsets_kernel",
    "17clear_amax_kernel",
    "17group_amax_kernel",
    "29delayed_scaling_update_kernel",
    "23per_tensor_scale_kernel",
    "26quantize_per_tensor_kernel",
    "27quantize_block_1x128_kernel",
    "29quantize_block_128x128_kernel",
    "11tile_kernel",
    "19varying_tile_kernel",
    "17dequantize_kernel",
    "25dequantize_varying_kernel",
    "12widen_kernel",
    "13narrow_kernel",
    "19widen_scales_kernel",
    "15add_bias_kernel",
    "20bias_partials_kernel",
    "27reduce_bias_gradient_kernel",
    "15activate_kernel",
    "21routing_counts_kernel",
    "18routing_map_kernel",
    "14permute_kernel",
    "16unpermute_kernel",
    "25unpermute_gradient_kernel",
    "18nvfp4_alpha_kernel",
};

/// False for every symbol that is not one of this project's kernels.
constexpr bool waits_for_predecessor(std::string_view symbol) {
  if (symbol.find("7kernels") == symbol.npos) return false;
  for (const std::string_view kernel : kWaitingKernels) {
    if (symbol.find(kernel) != symbol.npos) return true;
  }
  return false;
}

}  // namespace kernels

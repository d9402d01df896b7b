// SwiGLU of consecutive elements on the host.
#pragma once

#include "kernels/common/types.h"

namespace kernels {

/// gate[i] = silu(gate[i]) * up[i], FP32, rounded to `type` and widened again.
void activate_run(InputType type, const float* up, std::int64_t count, float* gate);

/// The bits of `value` rounded to nearest even; NaN becomes 0x7FFF.
std::uint16_t round_to_bf16(float value);
std::uint16_t round_to_fp16(float value);

}  // namespace kernels

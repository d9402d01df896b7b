// What a code is multiplied by, and how a Hadamard transform is undone: the same bits on the host
// and on the device.
#pragma once

#include "kernels/common/micro_scale_rule.h"
#include "kernels/dequantize/group_view.h"

namespace kernels {

/// An E4M3 scale as FP32, exact: read with FP32's exponent bias it is 2^120 too small.
KERNELS_HOST_DEVICE inline float e4m3_scale_value(std::uint8_t byte) {
  if ((byte & 0x7F) == 0x7F) return bits_to_float(0x7FC00000U);
  const float magnitude =
      exact_multiply(bits_to_float(static_cast<std::uint32_t>(byte & 0x7F) << 20), 0x1p120F);
  return (byte & 0x80) != 0 ? -magnitude : magnitude;
}

/// The code's value times this, in FP32, is the decoded element.
KERNELS_HOST_DEVICE inline float factor_at(const GroupView& group, std::int64_t index) {
  if (group.kind == ScaleKind::Fp32) return static_cast<const float*>(group.scales)[index];
  const std::uint8_t byte = static_cast<const std::uint8_t*>(group.scales)[index];
  if (group.kind == ScaleKind::E8m0) return bits_to_float(mx_decode_bits(byte));
  return exact_multiply(exact_multiply(e4m3_scale_value(byte), group.amax), 1.0F / 2688.0F);
}

/// Undoes the transform of 16 decoded elements adjacent in a column: the forward
/// transform, times a quarter, signs last.
KERNELS_HOST_DEVICE inline void undo_hadamard_16(float (&y)[16]) {
  walsh_hadamard_16(y);
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
  // Multiplying by -1/4 gives the bits of the negated product with 1/4.
  for (int i = 0; i < 16; ++i) {
    y[i] = exact_multiply(y[i], (kHadamardSigns >> i & 1) != 0 ? -0.25F : 0.25F);
  }
}

}  // namespace kernels

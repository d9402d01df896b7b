// FP32 scales of FP8 codes as the scale bytes of MXFP8 for the same codes: every block of 32
// elements takes the scale of the tensor or block that contains it. Exact, or refused.
#pragma once

#include "kernels/dequantize/group_view.h"

namespace kernels {

/// What cannot be widened, sticky: set to its initial value by the host, read after a step.
struct RefusedScales {
  /// The refused scale of the smallest index, as index << 32 | its bits; all ones = none was.
  std::uint64_t first = ~std::uint64_t{0};
  std::uint64_t blocks = 0;  // of 32 elements that have no scale now
};

/// The bytes are those of an operand that quantize_mxfp8.h quantizes in the same direction
/// (micro_scales.h, block = 32). Rowwise, the codes serve as they are. Columnwise codes of FP8 are
/// transposed, those of MXFP8 are not: transposed, they are the rowwise codes of the transposed
/// groups, and their swizzled scales too are the same bytes.
///
/// A scale that is not 2^k, -127 <= k <= 127, has no byte: its blocks get 0xFF, NaN, so that no
/// product with them passes for a result.
struct WidenScalesArgs {
  QuantizedView quantized;  // can_widen(); codes and format are not read
  MicroScaleLayout layout = MicroScaleLayout::Compact;
  std::uint8_t* scales = nullptr;
  RefusedScales* refused = nullptr;  // raised
};

/// FP32 scales that each cover whole blocks of 32.
KERNELS_HOST_DEVICE inline bool can_widen(const QuantizedView& view) {
  if (has_micro_scales(view.layout)) return false;
  return view.layout == ScaleLayout::PerTensor || view.block >= 32;
}

inline constexpr std::uint8_t kNoScaleByte = 0xFF;

/// E8M0's byte of a power of two; kNoScaleByte for anything else.
KERNELS_HOST_DEVICE constexpr std::uint8_t exact_scale_byte(std::uint32_t bits) {
  if (bits == 0x00400000U) return 0;          // 2^-127, a subnormal
  const std::uint32_t exponent = bits >> 23;  // a negative number's is above 255
  const bool power = (bits & 0x7FFFFFU) == 0 && exponent >= 1 && exponent <= 254;
  return power ? static_cast<std::uint8_t>(exponent) : kNoScaleByte;
}

/// The block of a refused scale: its first element, counted inside its group.
struct RefusedScale {
  int group = 0;
  std::int64_t row = 0;
  std::int64_t column = 0;
  float value = 0.0F;
};

/// Finds the scale of refused.first, which is not all ones; `view` needs its row offsets on the
/// host.
RefusedScale first_refused(const QuantizedView& view, const RefusedScales& refused);

void widen_scales_cpu(const WidenScalesArgs& args);
#ifdef EXPERTSCOPE_WITH_CUDA
/// Scales aligned to 16 bytes.
cudaError_t widen_scales(const WidenScalesArgs& args, LaunchStream stream);
#endif

}  // namespace kernels

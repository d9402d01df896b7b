// Codes and scales back to numbers, for every layout and both directions: the code's value times
// its factor, one FP32 product, rounded to the output's type. The CPU GEMM and every error
// statistic read through this.
#pragma once

#include "kernels/common/types.h"
#include "kernels/dequantize/quantized_view.h"

namespace kernels {

/// The factor is scale_inv, for MXFP8 2^(byte - 127) (0 gives 2^-127, 255 NaN), for NVFP4
/// (float(scale) * amax) * fp32(1 / 2688). A Hadamard transform is undone in FP32 before rounding.
/// NaN is written as 0x7FFFFFFF or 0x7FFF.
struct DequantizeArgs {
  QuantizedView quantized;
  const std::int64_t* row_offsets =
      nullptr;  // [num_groups + 1] of the output; null = those of the codes. If a group has fewer
                // rows here, its last ones, which are padding, are left out.
  void* output = nullptr;  // [rows, columns] row-major, whatever the direction of the codes
  InputType output_type = InputType::Fp32;
};

void dequantize_cpu(const DequantizeArgs& args);
#ifdef EXPERTSCOPE_WITH_CUDA
/// Codes and output aligned to 16 bytes.
cudaError_t dequantize(const DequantizeArgs& args, LaunchStream stream);
#endif

}  // namespace kernels

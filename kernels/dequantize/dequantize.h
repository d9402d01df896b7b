// FP8 codes and scales back to FP32: float(q) * scale_inv. The CPU product and every error
// statistic read through this.
#pragma once

#include "kernels/common/types.h"
#include "kernels/dequantize/quantized_view.h"

namespace kernels {

struct DequantizeArgs {
  const std::uint8_t* codes = nullptr;  // [capacity_rows, columns] rowwise
  Fp8Format format = Fp8Format::E4m3;
  ScaleLayout layout = ScaleLayout::PerTensor;
  const float* scale_inv = nullptr;           // laid out as kernels/quantize says for the layout
  const std::int64_t* row_offsets = nullptr;  // [num_groups + 1]
  int num_groups = 0;
  std::int64_t capacity_rows = 0;
  std::int64_t columns = 0;
  float* output = nullptr;  // [capacity_rows, columns]
};

/// Exact value of one code; NaN codes give NaN, E5M2 infinities give inf.
float fp8_to_float(std::uint8_t code, Fp8Format format);

void dequantize_cpu(const DequantizeArgs& args);

}  // namespace kernels

// What one look at every element says of a quantized FP8 operand that the grouped statistics do
// not: the largest errors and which codes occur. Rowwise codes, decoded beforehand.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/common/types.h"
#include "kernels/dequantize/quantized_view.h"

namespace engine {

/// Element i of an operand in its own type, as FP32 (exact).
float element_value(const kernels::GroupedInput& input, std::int64_t i);

struct ElementErrors {
  double max_relative = 0;                 // over codes that are normal numbers of the format
  std::int64_t max_ulp = 0;                // |x - decoded| in steps of the grid at the code
  std::vector<std::uint64_t> code_counts;  // [256]
};

/// `decoded` are the values of view.codes, [rows, columns]. Elements whose input or decoded value
/// is not finite, and codes of value 0 in the errors, are left out.
ElementErrors measure_errors(const kernels::GroupedInput& input, const kernels::QuantizedView& view,
                             const float* decoded);

}  // namespace engine

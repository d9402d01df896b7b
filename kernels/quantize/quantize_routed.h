// Quantizing tokens straight into the order of their experts: row r of the operand is row
// row_tokens[r] of the input (permute/routing_map.h), read where it is. Bit-identical to
// permute/permute.h followed by the plain kernel, without the permuted copy.
#pragma once

#include "kernels/quantize/quantize_block.h"
#include "kernels/quantize/quantize_mxfp8.h"
#include "kernels/quantize/quantize_per_tensor.h"

namespace kernels {

// The arguments are those of the plain kernels, but for `input.input`: [tokens, columns].
// `input.row_offsets` and `input.capacity_rows` are the operand's, and row_tokens has an entry for
// each of its rows; groups are padded as elsewhere (OutputRows). No activation, no stamps.

/// Arguments of the amax over the groups' rows: the first pass of current scaling.
struct RoutedAmaxArgs {
  GroupedInput input;
  float* amax = nullptr;        // [num_groups], as group_amax() leaves it
  const float* noop = nullptr;  // optional scalar: 1 = leave amax unchanged
};

void routed_amax_cpu(const RoutedAmaxArgs& args, const std::int32_t* row_tokens);
void quantize_per_tensor_routed_cpu(const QuantizePerTensorArgs& args,
                                    const std::int32_t* row_tokens);
void quantize_block_lines_routed_cpu(const QuantizeBlockArgs& args, const std::int32_t* row_tokens);
void quantize_mxfp8_routed_cpu(const QuantizeMxfp8Args& args, const std::int32_t* row_tokens);
#ifdef EXPERTSCOPE_WITH_CUDA
/// cudaErrorNotSupported with an activation or stamps.
cudaError_t routed_amax(const RoutedAmaxArgs& args, const std::int32_t* row_tokens,
                        LaunchStream stream);
cudaError_t quantize_per_tensor_routed(const QuantizePerTensorArgs& args,
                                       const std::int32_t* row_tokens, LaunchStream stream);
cudaError_t quantize_block_lines_routed(const QuantizeBlockArgs& args,
                                        const std::int32_t* row_tokens, LaunchStream stream);
cudaError_t quantize_mxfp8_routed(const QuantizeMxfp8Args& args, const std::int32_t* row_tokens,
                                  LaunchStream stream);
#endif

}  // namespace kernels

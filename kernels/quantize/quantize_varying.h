// Quantizing groups that differ in columns as well as in rows (common/varying_groups.h): every
// group as the plain kernels quantize an operand that consists of it alone, all in one launch.
#pragma once

#include "kernels/common/varying_groups.h"
#include "kernels/quantize/quantize_block.h"
#include "kernels/quantize/quantize_mxfp8.h"
#include "kernels/quantize/quantize_nvfp4.h"
#include "kernels/quantize/quantize_per_tensor.h"

namespace kernels {

/// The shapes of an operand's groups, and where their codes and scales begin.
struct VaryingOperand {
  VaryingGroups groups;
  VaryingPlaces places;
};

// The arguments are those of the plain kernels; `input.columns` is not read. No activation, no
// padding, no bias partials, stamps or tickets, and for NVFP4 no stochastic rounding, whose numbers
// are drawn by the place of a code.
//
// Current scaling needs no kernel of its own for its amax: a group is also a row-major matrix of
// 16 columns, so group_amax() takes the operand with 16 columns and the offsets of ExtentUnits
// {1, 16, 1} as row offsets. Rowwise quantize_per_tensor() does the same.

void quantize_per_tensor_varying_cpu(const QuantizePerTensorArgs& args,
                                     const VaryingOperand& operand);
/// `square`: 128x128 instead of 1x128.
void quantize_block_varying_cpu(const QuantizeBlockArgs& args, bool square,
                                const VaryingOperand& operand);
void quantize_mxfp8_varying_cpu(const QuantizeMxfp8Args& args, const VaryingOperand& operand);
void nvfp4_amax_varying_cpu(const Nvfp4AmaxArgs& args, const VaryingOperand& operand);
void quantize_nvfp4_varying_cpu(const QuantizeNvfp4Args& args, const VaryingOperand& operand);
#ifdef EXPERTSCOPE_WITH_CUDA
/// cudaErrorNotSupported with any of what is excluded above.
cudaError_t quantize_per_tensor_varying(const QuantizePerTensorArgs& args,
                                        const VaryingOperand& operand, LaunchStream stream);
cudaError_t quantize_block_varying(const QuantizeBlockArgs& args, bool square,
                                   const VaryingOperand& operand, LaunchStream stream);
cudaError_t quantize_mxfp8_varying(const QuantizeMxfp8Args& args, const VaryingOperand& operand,
                                   LaunchStream stream);
cudaError_t nvfp4_amax_varying(const Nvfp4AmaxArgs& args, const VaryingOperand& operand,
                               LaunchStream stream);
cudaError_t quantize_nvfp4_varying(const QuantizeNvfp4Args& args, const VaryingOperand& operand,
                                   LaunchStream stream);
#endif

}  // namespace kernels

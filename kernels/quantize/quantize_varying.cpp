// CPU twins: the plain twin for one group after another.
#include "kernels/quantize/quantize_varying.h"

#include <array>

#include "kernels/quantize/group_arguments.h"

namespace kernels {
namespace {

/// Calls quantize(arguments) for every group.
template <class Args, class Quantize>
void for_each_group(const Args& args, const VaryingOperand& operand, Quantize quantize) {
  for (int group = 0; group < args.input.num_groups; ++group) {
    const GroupPlace place =
        place_of_group(args.input.row_offsets, operand.groups, operand.places, group);
    const std::array<std::int64_t, 2> rows = {0, place.columns > 0 ? place.rows : 0};
    Args own = group_arguments(args, place);
    own.input.row_offsets = rows.data();
    quantize(own);
  }
}

}  // namespace

void quantize_per_tensor_varying_cpu(const QuantizePerTensorArgs& args,
                                     const VaryingOperand& operand) {
  for_each_group(args, operand, quantize_per_tensor_cpu);
}

void quantize_block_varying_cpu(const QuantizeBlockArgs& args, bool square,
                                const VaryingOperand& operand) {
  for_each_group(args, operand, square ? quantize_block_squares_cpu : quantize_block_lines_cpu);
}

void quantize_mxfp8_varying_cpu(const QuantizeMxfp8Args& args, const VaryingOperand& operand) {
  for_each_group(args, operand, quantize_mxfp8_cpu);
}

void nvfp4_amax_varying_cpu(const Nvfp4AmaxArgs& args, const VaryingOperand& operand) {
  for_each_group(args, operand, nvfp4_amax_cpu);
}

void quantize_nvfp4_varying_cpu(const QuantizeNvfp4Args& args, const VaryingOperand& operand) {
  for_each_group(args, operand, quantize_nvfp4_cpu);
}

}  // namespace kernels

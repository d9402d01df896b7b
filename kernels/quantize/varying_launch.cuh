// What the launchers for varying groups refuse.
#pragma once

#include "kernels/quantize/varying_tiles.cuh"

namespace kernels {

inline cudaError_t check_varying_input(const GroupedInput& input, const VaryingOperand& operand) {
  GroupedInput sixteen = input;  // columns are the groups' own, multiples of it
  sixteen.columns = 16;
  const VaryingGroups& groups = operand.groups;
  const bool elements = input.num_groups > 0 && groups.capacity_elements > 0;
  if (groups.columns == nullptr || groups.elements == nullptr || groups.capacity_elements < 0 ||
      (elements && (input.input == nullptr || input.row_offsets == nullptr))) {
    return cudaErrorInvalidValue;
  }
  return check_operands(sixteen, nullptr);
}

/// Whether a format whose scales have an array of places in each direction lacks one.
inline bool lacks_places(const void* rowwise, const void* columnwise, const VaryingPlaces& places) {
  return (rowwise != nullptr && places.rowwise_scales == nullptr) ||
         (columnwise != nullptr && places.columnwise_scales == nullptr);
}

template <class Args>
cudaError_t check_varying(const Args& args, const VaryingOperand& operand, const float* bias,
                          std::initializer_list<const void*> outputs) {
  const bool plain = args.input.activation.is_none() && args.output_rows.row_offsets == nullptr &&
                     args.controls.stamps.stamps == nullptr && args.controls.tickets == nullptr &&
                     bias == nullptr;
  if (!plain) return cudaErrorNotSupported;
  for (const void* output : outputs) {
    if (reinterpret_cast<std::uintptr_t>(output) % 16 != 0) return cudaErrorMisalignedAddress;
  }
  return check_varying_input(args.input, operand);
}

}  // namespace kernels

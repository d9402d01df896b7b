// The arguments of a quantize kernel for one group of an operand of varying groups: every array
// from where the group's part begins. The kernels and their twins both see each group through this,
// so that what they do with it is what they do with any operand.
#pragma once

#include "kernels/quantize/quantize_varying.h"

namespace kernels {

KERNELS_HOST_DEVICE inline GroupedInput group_input(const GroupedInput& input,
                                                    const GroupPlace& place) {
  GroupedInput own = input;
  const std::int64_t bytes = element_bytes(input.type);
  own.input = static_cast<const std::uint8_t*>(input.input) + place.element * bytes;
  own.row_offsets = nullptr;  // the host's: {0, rows}
  own.num_groups = 1;
  own.capacity_rows = place.rows;
  own.columns = place.columns;
  return own;
}

KERNELS_HOST_DEVICE inline QuantizeBlockArgs group_arguments(const QuantizeBlockArgs& args,
                                                             const GroupPlace& place) {
  const auto output = [&](const BlockOutput& whole, std::int64_t scale) {
    return BlockOutput{.codes = shifted(whole.codes, place.element),
                       .scale_inv = shifted(whole.scale_inv, scale),
                       .block_amax = shifted(whole.block_amax, scale)};
  };
  QuantizeBlockArgs own = args;
  own.input = group_input(args.input, place);
  own.rowwise = output(args.rowwise, place.rowwise_scale);
  own.columnwise = output(args.columnwise, place.columnwise_scale);
  return own;
}

KERNELS_HOST_DEVICE inline QuantizePerTensorArgs group_arguments(const QuantizePerTensorArgs& args,
                                                                 const GroupPlace& place) {
  QuantizePerTensorArgs own = args;
  own.input = group_input(args.input, place);
  own.scale = args.scale + place.group;
  own.rowwise = shifted(args.rowwise, place.element);
  own.columnwise = shifted(args.columnwise, place.element);
  own.amax = shifted(args.amax, place.group);
  own.scale_inv = shifted(args.scale_inv, place.group);
  return own;
}

KERNELS_HOST_DEVICE inline QuantizeMxfp8Args group_arguments(const QuantizeMxfp8Args& args,
                                                             const GroupPlace& place) {
  QuantizeMxfp8Args own = args;
  own.input = group_input(args.input, place);
  own.rowwise = {shifted(args.rowwise.codes, place.element),
                 shifted(args.rowwise.scales, place.rowwise_scale)};
  own.columnwise = {shifted(args.columnwise.codes, place.element),
                    shifted(args.columnwise.scales, place.columnwise_scale)};
  return own;
}

KERNELS_HOST_DEVICE inline Nvfp4AmaxArgs group_arguments(const Nvfp4AmaxArgs& args,
                                                         const GroupPlace& place) {
  Nvfp4AmaxArgs own = args;
  own.input = group_input(args.input, place);
  own.rowwise_amax = shifted(args.rowwise_amax, place.group);
  own.columnwise_amax = shifted(args.columnwise_amax, place.group);
  return own;
}

KERNELS_HOST_DEVICE inline QuantizeNvfp4Args group_arguments(const QuantizeNvfp4Args& args,
                                                             const GroupPlace& place) {
  QuantizeNvfp4Args own = args;
  own.input = group_input(args.input, place);
  own.rowwise = {.codes = shifted(args.rowwise.codes, place.element / 2),
                 .scales = shifted(args.rowwise.scales, place.rowwise_scale),
                 .amax = shifted(args.rowwise.amax, place.group)};
  own.columnwise = {.codes = shifted(args.columnwise.codes, place.columnwise_code),
                    .scales = shifted(args.columnwise.scales, place.columnwise_scale),
                    .amax = shifted(args.columnwise.amax, place.group)};
  return own;
}

}  // namespace kernels

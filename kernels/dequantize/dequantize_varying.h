// Dequantize for groups that differ in columns as well as in rows (common/varying_groups.h): every
// group as dequantize() decodes an operand that consists of it alone.
#pragma once

#include "kernels/common/varying_groups.h"
#include "kernels/dequantize/dequantize.h"
#include "kernels/dequantize/group_view.h"

namespace kernels {

/// `quantized.columns` is not read, `row_offsets` is null: output and codes have the same groups.
/// The places are those of the view's direction.
struct DequantizeVaryingArgs {
  DequantizeArgs whole;
  VaryingGroups groups;
  VaryingPlaces places;
};

/// The arguments of one group. Its row offsets stay the caller's to set.
KERNELS_HOST_DEVICE inline DequantizeArgs group_arguments(const DequantizeVaryingArgs& args,
                                                          const GroupPlace& place) {
  DequantizeArgs own = args.whole;
  QuantizedView& view = own.quantized;
  const bool rowwise = view.direction == Direction::Rowwise;
  const bool e2m1 = is_nvfp4(view.layout);
  const std::int64_t scale = view.layout == ScaleLayout::PerTensor ? place.group
                             : rowwise                             ? place.rowwise_scale
                                                                   : place.columnwise_scale;
  view.codes += !e2m1 ? place.element : rowwise ? place.element / 2 : place.columnwise_code;
  view.scales = static_cast<const std::uint8_t*>(view.scales) +
                scale * (has_micro_scales(view.layout) ? 1 : 4);
  view.amax = shifted(view.amax, place.group);
  view.row_offsets = nullptr;
  view.num_groups = 1;
  view.capacity_rows = place.rows;
  view.columns = place.columns;
  own.output =
      static_cast<std::uint8_t*>(own.output) + place.element * element_bytes(own.output_type);
  return own;
}

void dequantize_varying_cpu(const DequantizeVaryingArgs& args);
#ifdef EXPERTSCOPE_WITH_CUDA
/// Codes and output aligned to 16 bytes.
cudaError_t dequantize_varying(const DequantizeVaryingArgs& args, LaunchStream stream);
#endif

}  // namespace kernels

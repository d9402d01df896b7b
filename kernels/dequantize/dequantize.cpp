// Dequantize on the CPU: patch by patch through decode_patch.h, rounding each element once, as on
// the device.
#include "kernels/dequantize/dequantize.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/common/element_run.h"  // round_to_bf16, round_to_fp16
#include "kernels/common/fp8_codes.h"
#include "kernels/dequantize/decode_patch.h"

namespace kernels {

namespace {

/// A host NaN may have another sign and payload.
KERNELS_VECTOR_CLONES
void store_fp32(const float* values, std::int64_t count, std::uint32_t* output) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(values[i]);
    output[i] = (bits & 0x7FFFFFFFU) > 0x7F800000U ? 0x7FFFFFFFU : bits;
  }
}

void store(const float* values, std::int64_t count, InputType type, void* output,
           std::int64_t first) {
  if (type == InputType::Fp32) {
    store_fp32(values, count, static_cast<std::uint32_t*>(output) + first);
    return;
  }
  auto* const narrow = static_cast<std::uint16_t*>(output) + first;
  for (std::int64_t i = 0; i < count; ++i) {
    narrow[i] = type == InputType::Bf16 ? round_to_bf16(values[i]) : round_to_fp16(values[i]);
  }
}

}  // namespace

float fp8_to_float(std::uint8_t code, Fp8Format format) { return fp8_values(format)[code]; }

void dequantize_cpu(const DequantizeArgs& args) {
  const QuantizedView& view = args.quantized;
  const std::int64_t* offsets = args.row_offsets != nullptr ? args.row_offsets : view.row_offsets;
  std::vector<std::int64_t> rows;
  for (int group = 0; group < view.num_groups; ++group) {
    rows.push_back(std::min(offsets[group + 1] - offsets[group],
                            view.row_offsets[group + 1] - view.row_offsets[group]));
  }
  const std::vector<GroupView> groups = group_views(view);
  const std::vector<PatchPlace> places = patch_places(rows, view.columns, patch_shape(view));
#pragma omp parallel
  {
    DecodedPatch patch;
#pragma omp for schedule(dynamic, 8)
    for (std::size_t p = 0; p < places.size(); ++p) {
      const PatchPlace& place = places[p];
      decode_patch(view, groups[static_cast<std::size_t>(place.group)], place, patch);
      for (int r = 0; r < place.rows; ++r) {
        store(patch.values.data() + r * place.columns, place.columns, args.output_type, args.output,
              (offsets[place.group] + place.row + r) * view.columns + place.column);
      }
    }
  }
}

}  // namespace kernels

#include "engine/quantize/unpacked_operand.h"

#include <algorithm>
#include <vector>

#include "kernels/dequantize/decode_patch.h"

namespace engine {

void unpack_operand(const kernels::QuantizedView& view, UnpackedOperand& out) {
  const std::int64_t columns = view.columns;
  const std::int64_t elements = view.row_offsets[view.num_groups] * columns;
  std::uint8_t* codes = out.codes.reserve(elements);
  float* factors = out.factors.reserve(elements);
  float* decoded = out.decoded.reserve(elements);
  const std::vector<kernels::GroupView> groups = kernels::group_views(view);
  std::vector<std::int64_t> rows;
  for (const kernels::GroupView& group : groups) rows.push_back(group.rows);
  const std::vector<kernels::PatchPlace> places =
      kernels::patch_places(rows, columns, kernels::patch_shape(view));
#pragma omp parallel
  {
    kernels::DecodedPatch patch;
#pragma omp for schedule(dynamic, 8)
    for (std::size_t p = 0; p < places.size(); ++p) {
      const kernels::PatchPlace& place = places[p];
      kernels::decode_patch(view, groups[static_cast<std::size_t>(place.group)], place, patch);
      for (std::int64_t r = 0; r < place.rows; ++r) {
        const std::int64_t from = r * place.columns;
        const std::int64_t to =
            (view.row_offsets[place.group] + place.row + r) * columns + place.column;
        std::copy_n(patch.codes.data() + from, place.columns, codes + to);
        std::copy_n(patch.factors.data() + from, place.columns, factors + to);
        std::copy_n(patch.values.data() + from, place.columns, decoded + to);
      }
    }
  }
}

}  // namespace engine

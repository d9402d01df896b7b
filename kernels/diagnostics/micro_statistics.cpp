#include "kernels/diagnostics/micro_statistics.h"

#include <cmath>
#include <vector>

#include "kernels/common/input_elements.h"
#include "kernels/dequantize/decode_patch.h"
#include "kernels/diagnostics/micro_losses.h"

namespace kernels {
namespace {

template <InputType kType>
void widen(const void* input, std::int64_t first, std::int64_t count, float* values) {
  using Element = InputElement<kType>;
  const auto* bits = static_cast<const typename Element::Bits*>(input) + first;
  for (std::int64_t i = 0; i < count; ++i) values[i] = Element::value(bits[i]);
}

void read_row(const GroupedInput& input, std::int64_t first, std::int64_t count, float* values) {
  switch (input.type) {
    case InputType::Bf16:
      return widen<InputType::Bf16>(input.input, first, count, values);
    case InputType::Fp16:
      return widen<InputType::Fp16>(input.input, first, count, values);
    case InputType::Fp32:
      return widen<InputType::Fp32>(input.input, first, count, values);
  }
}

/// Of `count` elements that share a scale; their sums are added to the group's.
MicroLosses measure_block(const float* x, const float* decoded, std::int64_t count, float factor,
                          double limit, GroupQuantizationSums& sums) {
  MicroLosses losses{};
  for (std::int64_t i = 0; i < count; ++i) {
    if (micro_saturated(x[i], factor, limit)) ++losses.saturated;
    if (!std::isfinite(x[i]) || !std::isfinite(decoded[i])) continue;
    if (x[i] != 0.0F && decoded[i] == 0.0F) ++losses.underflowed;
    const double exact = x[i];
    const double error = exact - static_cast<double>(decoded[i]);
    sums.signal += exact * exact;
    sums.noise += error * error;
  }
  sums.saturated += losses.saturated;
  sums.underflowed += losses.underflowed;
  return losses;
}

}  // namespace

void micro_statistics_cpu(const MicroStatisticsArgs& args) {
  const QuantizedView& view = args.quantized;
  const std::vector<GroupView> groups = group_views(view);
  std::vector<std::int64_t> rows;
  for (const GroupView& group : groups) rows.push_back(group.rows);
  const double limit = micro_saturation_limit(view);
  DecodedPatch patch;
  std::vector<float> x(DecodedPatch::kMaxElements);
  for (const PatchPlace& place : patch_places(rows, view.columns, patch_shape(view))) {
    const GroupView& group = groups[static_cast<std::size_t>(place.group)];
    decode_patch(view, group, place, patch);
    for (int r = 0; r < place.rows; ++r) {
      const std::int64_t row = view.row_offsets[place.group] + place.row + r;
      const float* decoded = patch.values.data() + std::int64_t{r} * place.columns;
      read_row(args.input, row * view.columns + place.column, place.columns, x.data());
      magnitude_counts_cpu(x.data(), place.columns, *args.before);
      magnitude_counts_cpu(decoded, place.columns, *args.after);
      const std::int64_t block = std::int64_t{1} << group.column_shift;
      for (std::int64_t c = 0; c < place.columns; c += block) {
        const MicroLosses losses =
            measure_block(x.data() + c, decoded + c, std::min(block, place.columns - c),
                          patch.factors[static_cast<std::size_t>(r * place.columns + c)], limit,
                          args.sums[place.group]);
        if (args.losses == nullptr) continue;
        const auto* scales = static_cast<const std::uint8_t*>(view.scales);
        const auto* of_group = static_cast<const std::uint8_t*>(group.scales);
        args.losses[of_group - scales + group.scale_index(place.row + r, place.column + c)] =
            losses;
      }
    }
  }
}

}  // namespace kernels

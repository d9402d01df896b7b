#include "kernels/diagnostics/micro_statistics.h"

#include <bit>
#include <cmath>
#include <span>
#include <vector>

#include "kernels/common/input_elements.h"
#include "kernels/dequantize/decode_patch.h"
#include "kernels/diagnostics/code_error.h"

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
struct Block {
  const float* x = nullptr;
  const float* decoded = nullptr;
  const std::uint8_t* codes = nullptr;
  std::int64_t count = 0;
  float factor = 0.0F;
};

/// The values that the codes of a view represent.
struct Codes {
  double limit = 0.0;
  CodeGridBits grid;
  std::span<const float> values = {};  // of every code
};

MicroLosses measure_block(const Block& block, const Codes& codes, GroupQuantizationSums& sums) {
  MicroLosses losses{};
  for (std::int64_t i = 0; i < block.count; ++i) {
    const float x = block.x[i];
    const float decoded = block.decoded[i];
    if (micro_saturated(x, block.factor, codes.limit)) ++losses.saturated;
    if (!std::isfinite(x) || !std::isfinite(decoded)) continue;
    if (x != 0.0F && decoded == 0.0F) ++losses.underflowed;
    const double exact = x;
    const double error = exact - static_cast<double>(decoded);
    const auto value = std::bit_cast<std::uint32_t>(codes.values[block.codes[i]]);
    sums.max_ulp = std::max(sums.max_ulp, code_ulps(static_cast<float>(std::fabs(error)), value,
                                                    block.factor, codes.grid));
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
  const Codes meaning{.limit = micro_saturation_limit(view),
                      .grid = is_nvfp4(view.layout) ? kE2m1GridBits : code_grid_bits(view.format),
                      .values = code_values(view)};
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
        const auto first = static_cast<std::size_t>(std::int64_t{r} * place.columns + c);
        const MicroLosses losses = measure_block({.x = x.data() + c,
                                                  .decoded = decoded + c,
                                                  .codes = patch.codes.data() + first,
                                                  .count = std::min(block, place.columns - c),
                                                  .factor = patch.factors[first]},
                                                 meaning, args.sums[place.group]);
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

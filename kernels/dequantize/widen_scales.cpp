// CPU twin: every byte of the output once, the place of both scales from group_view.h.
#include "kernels/dequantize/widen_scales.h"

#include <algorithm>
#include <bit>

namespace kernels {
namespace {

constexpr std::int64_t kBlock32 = 32;

/// The operand that the bytes belong to.
QuantizedView widened_view(const WidenScalesArgs& args) {
  QuantizedView view = args.quantized;
  view.layout = ScaleLayout::Mx1x32;
  view.micro_layout = args.layout;
  view.scales = args.scales;
  return view;
}

}  // namespace

void widen_scales_cpu(const WidenScalesArgs& args) {
  const QuantizedView& view = args.quantized;
  const std::vector<GroupView> from = group_views(view);
  const std::vector<GroupView> to = group_views(widened_view(args));
  const bool rowwise = view.direction == Direction::Rowwise;
  for (std::size_t g = 0; g < from.size(); ++g) {
    const std::int64_t rows = from[g].rows;
    const std::int64_t lines = round_up(rowwise ? rows : view.columns, 128);
    const std::int64_t blocks = round_up(ceil_div(rowwise ? view.columns : rows, kBlock32), 4);
    auto* const scales = args.scales + (static_cast<const std::uint8_t*>(to[g].scales) -
                                        static_cast<const std::uint8_t*>(args.scales));
    for (std::int64_t line = 0; line < (rows == 0 ? 0 : lines); ++line) {
      for (std::int64_t block = 0; block < blocks; ++block) {
        const std::int64_t row = rowwise ? line : block * kBlock32;
        const std::int64_t column = rowwise ? block * kBlock32 : line;
        std::uint8_t byte = 0;
        if (row < rows && column < view.columns) {
          const std::int64_t index = from[g].scale_index(row, column);
          const auto bits =
              std::bit_cast<std::uint32_t>(static_cast<const float*>(from[g].scales)[index]);
          byte = exact_scale_byte(bits);
          if (byte == kNoScaleByte) {
            const auto place = static_cast<std::uint64_t>(scale_index(view, from[g], row, column));
            args.refused->first = std::min(args.refused->first, place << 32 | bits);
            ++args.refused->blocks;
          }
        }
        scales[to[g].scale_index(row, column)] = byte;
      }
    }
  }
}

RefusedScale first_refused(const QuantizedView& view, const RefusedScales& refused) {
  auto index = static_cast<std::int64_t>(refused.first >> 32);
  const float value = std::bit_cast<float>(static_cast<std::uint32_t>(refused.first));
  const std::vector<GroupView> groups = group_views(view);
  for (int g = 0; g < view.num_groups; ++g) {
    const GroupView& group = groups[static_cast<std::size_t>(g)];
    const std::int64_t span = group_scale_span(view, group.rows);
    if (index >= span) {
      index -= span;
      continue;
    }
    // One of the two pitches is 1; one scale per group has none.
    const bool by_row = group.scale_row_pitch != 1;
    const std::int64_t pitch =
        std::max<std::int64_t>(by_row ? group.scale_row_pitch : group.scale_column_pitch, 1);
    const std::int64_t down = by_row ? index / pitch : index % pitch;
    const std::int64_t across = by_row ? index % pitch : index / pitch;
    return {.group = g,
            .row = down << group.row_shift,
            .column = across << group.column_shift,
            .value = value};
  }
  return {.group = view.num_groups, .value = value};
}

}  // namespace kernels

// SwiGLU alone, on the CPU.
#include "kernels/activation/swiglu.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/common/element_run.h"
#include "kernels/common/value_tile.h"

namespace kernels {

void swiglu_cpu(const SwigluArgs& args) {
  const GroupedInput& input = args.input;
  for_each_tile(input, {}, [&](const HostTile& tile, TileValues& values) {
    load_tile(input, tile, values);
    for (int row = 0; row < tile.in_rows; ++row) {
      const std::int64_t first = (tile.in_first + row) * input.columns + tile.column;
      for (int c = 0; c < tile.columns; ++c) {
        const float value = values.line(row)[c];
        if (input.type == InputType::Fp32) {
          static_cast<std::uint32_t*>(args.output)[first + c] =
              std::isnan(value) ? 0x7FFFFFFFU : std::bit_cast<std::uint32_t>(value);
        } else {
          static_cast<std::uint16_t*>(args.output)[first + c] =
              input.type == InputType::Bf16 ? round_to_bf16(value) : round_to_fp16(value);
        }
      }
    }
  });
}

}  // namespace kernels

// An activation or its gradient alone, on the CPU.
#include "kernels/activation/activate.h"

#include "kernels/common/element_run.h"
#include "kernels/common/value_tile.h"

namespace kernels {

void activate_cpu(const ActivateArgs& args) {
  const GroupedInput& input = args.input;
  for_each_tile(input, {}, [&](const HostTile& tile, TileValues& values) {
    load_tile(input, tile, values);
    for (int row = 0; row < tile.in_rows; ++row) {
      const std::int64_t first = (tile.in_first + row) * input.columns + tile.column;
      round_run(values.line(row), tile.columns, input.type, args.output, first);
    }
  });
}

}  // namespace kernels

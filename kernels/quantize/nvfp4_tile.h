// Host: the Hadamard transform of a transposed tile.
#pragma once

#include "kernels/common/activate_run.h"
#include "kernels/common/input_elements.h"
#include "kernels/common/nvfp4_rule.h"
#include "kernels/common/value_tile.h"

namespace kernels {

/// Transforms every 16 elements of every column and rounds to BF16.
inline void transform_columns(TileValues& values) {
  for (int column = 0; column < kTileSide; ++column) {
    for (int row = 0; row < kTileSide; row += 16) {
      float x[16];
      for (int i = 0; i < 16; ++i) x[i] = values.column(column)[row + i];
      hadamard_16(x);
      for (int i = 0; i < 16; ++i) {
        values.column(column)[row + i] = InputElement<InputType::Bf16>::value(round_to_bf16(x[i]));
      }
    }
  }
}

}  // namespace kernels

// A quantized operand of any recipe and direction as three plain arrays: one code, the factor that
// decodes it, and the decoded value for every element, row by row.
#pragma once

#include <cstdint>

#include "engine/input/operand_store.h"
#include "kernels/dequantize/quantized_view.h"

namespace engine {

struct UnpackedOperand {
  Buffer<std::uint8_t> codes;  // [rows, columns], E2M1 one per byte too
  Buffer<float> factors;       // [rows, columns]; code's value times this is what was encoded
  Buffer<float> decoded;       // [rows, columns], a Hadamard transform undone
};

void unpack_operand(const kernels::QuantizedView& view, UnpackedOperand& out);

}  // namespace engine

// A quantized operand of any recipe and direction as three plain arrays: one code, the factor that
// decodes it, and the decoded value for every element, row by row.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "engine/input/operand_store.h"
#include "engine/quantize/operand_layout.h"

namespace engine {

struct UnpackedOperand {
  Buffer<std::uint8_t> codes;  // [rows, columns], E2M1 one per byte too
  Buffer<float> factors;       // [rows, columns]; code's value times this is what was encoded
  Buffer<float> decoded;       // [rows, columns], a Hadamard transform undone
};

/// Values of all codes of a layout: 256 of FP8, 16 of E2M1.
std::span<const float> code_values(const OperandLayout& layout);

/// y_j of 16 elements, without the rounding to BF16 that the kernel adds; its own inverse but for
/// the place of the signs.
void hadamard_transform(std::array<float, 16>& block);

/// `splits`: rows of every group of the view.
void unpack_operand(const OperandLayout& layout, const kernels::QuantizedView& view,
                    std::span<const std::int64_t> splits, UnpackedOperand& out);

}  // namespace engine

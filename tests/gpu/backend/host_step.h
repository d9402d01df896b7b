// The step on the host, from the CPU twins and a plain triple loop: what the device step is held
// against.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/linear/step_arrays.h"

namespace engine::testing {

/// BF16 bits of uniform values in [-1, 1) times `deviation`, by hash of (seed, index).
std::vector<std::uint16_t> random_bf16(std::int64_t count, std::uint64_t seed, float deviation);

float bf16_to_float(std::uint16_t bits);

/// Y [sum of splits, n] of the operands quantized and dequantized as config.recipe says, in FP64.
std::vector<double> host_product(const StepConfig& config, const std::vector<std::int64_t>& splits,
                                 const std::vector<std::uint16_t>& activations,
                                 const std::vector<std::uint16_t>& weights);

}  // namespace engine::testing

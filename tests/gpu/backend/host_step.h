// The step on the host, from the CPU twins and plain triple loops in FP64: the reference for the
// device step.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/linear/step_config.h"

namespace engine::testing {

/// BF16 bits of uniform values in [-1, 1) times `deviation`, by hash of (seed, index).
std::vector<std::uint16_t> random_bf16(std::int64_t count, std::uint64_t seed, float deviation);

float bf16_to_float(std::uint16_t bits);

/// BF16 bits of the operands of one layer.
struct HostOperands {
  std::vector<std::uint16_t> x;     // [capacity_rows, k]
  std::vector<std::uint16_t> dy;    // [capacity_rows, n]
  std::vector<std::uint16_t> w;     // [num_groups * n, k]
  std::vector<std::uint16_t> bias;  // [num_groups, n], empty = none
};

/// Products of the operands quantized (`steps` times: delayed scaling has a history) and
/// dequantized as config.recipe says, in the direction that each product reads them.
std::vector<double> host_fprop(const StepConfig& config, const std::vector<std::int64_t>& splits,
                               const HostOperands& operands, int steps = 1);  // [rows, n]
std::vector<double> host_dgrad(const StepConfig& config, const std::vector<std::int64_t>& splits,
                               const HostOperands& operands, int steps = 1);  // [rows, k]
std::vector<double> host_wgrad(const StepConfig& config, const std::vector<std::int64_t>& splits,
                               const HostOperands& operands, int steps = 1);  // [groups * n, k]

}  // namespace engine::testing

// Sizes and allocation of a step's buffers. Sizes come from the capacity, never from the splits.
#include "engine/linear/step_arrays.h"

#include "engine/gemm/grouped_matmul.h"

namespace engine {
namespace {

// The driver hands out device memory in blocks of 2 MiB; the arrays of a few KiB share some.
constexpr std::int64_t kSmallArraysBytes = std::int64_t{8} << 20;

Status take(DeviceBuffer& buffer, std::int64_t bytes) {
  Result<DeviceBuffer> allocated = DeviceBuffer::allocate(bytes);
  if (!allocated.ok()) return allocated.error();
  buffer = std::move(allocated).value();
  return {};
}

struct OperandSize {
  std::int64_t code_bytes = 0;
  std::int64_t scales = 0;
};

Status take_operand(QuantizedOperand& operand, const StepConfig& config, const OperandSize& size) {
  const std::int64_t per_group = std::int64_t{4} * config.num_groups;
  ENGINE_TRY(take(operand.codes, size.code_bytes));
  ENGINE_TRY(take(operand.scale_inv, size.scales * 4));
  // Padding between scales is never written by a kernel; zeroes keep every read of it defined.
  ENGINE_CUDA_TRY(cudaMemset(operand.scale_inv.data(), 0, operand.scale_inv.bytes()),
                  "Clearing scales");
  if (config.block()) return {};
  ENGINE_TRY(take(operand.amax, per_group));
  ENGINE_TRY(take(operand.scale, per_group));
  return {};
}

}  // namespace

std::int64_t StepConfig::activation_scales() const {
  if (!fp8()) return 0;
  return block() ? kernels::block_1x128_scale_capacity(capacity_rows, num_groups, k) : num_groups;
}

std::int64_t StepConfig::weight_scales() const {
  if (!fp8()) return 0;
  return block() ? kernels::block_128x128_scale_capacity(weight_rows(), num_groups, k) : num_groups;
}

std::int64_t step_bytes(const StepConfig& config) {
  const std::int64_t codes = config.fp8() ? 1 : 0;
  const std::int64_t activations =
      codes * config.capacity_rows * config.k + 4 * config.activation_scales();
  const std::int64_t a_layer = codes * config.weight_rows() * config.k +
                               4 * config.weight_scales() + 2 * config.capacity_rows * config.n;
  return kSmallArraysBytes + activations + a_layer * config.layers +
         kWorkspaceBytes * config.workspaces();
}

Result<StepArrays> StepArrays::allocate(const StepConfig& config) {
  const std::int64_t groups = config.num_groups;
  StepArrays made;
  ENGINE_TRY(take(made.splits, 8 * groups));
  ENGINE_TRY(take(made.row_offsets, 8 * (groups + 1)));
  ENGINE_TRY(take(made.rows, 4 * groups));
  ENGINE_TRY(take(made.error_word, 4));
  ENGINE_TRY(take(made.weight_offsets, 8 * (groups + 1)));
  ENGINE_TRY(take(made.n_dims, 4 * groups));
  ENGINE_TRY(take(made.k_dims, 4 * groups));
  ENGINE_TRY(take(made.alpha_beta, 8));
  ENGINE_TRY(take(made.activation_pointers, 8 * groups));
  if (config.fp8()) {
    ENGINE_TRY(take(made.activation_scale_pointers, 8 * groups));
    ENGINE_TRY(take_operand(
        made.activations, config,
        {.code_bytes = config.capacity_rows * config.k, .scales = config.activation_scales()}));
  }
  for (int layer = 0; layer < config.layers; ++layer) {
    LayerBuffers& buffers = made.layers.emplace_back();
    ENGINE_TRY(take(buffers.output, 2 * config.capacity_rows * config.n));
    ENGINE_TRY(take(buffers.weight_pointers, 8 * groups));
    ENGINE_TRY(take(buffers.output_pointers, 8 * groups));
    if (!config.fp8()) continue;
    ENGINE_TRY(take(buffers.weight_scale_pointers, 8 * groups));
    ENGINE_TRY(take_operand(
        buffers.weights, config,
        {.code_bytes = config.weight_rows() * config.k, .scales = config.weight_scales()}));
  }
  for (int i = 0; i < config.workspaces(); ++i) {
    DeviceBuffer& workspace = made.workspaces.emplace_back();
    ENGINE_TRY(take(workspace, kWorkspaceBytes));
    ENGINE_CUDA_TRY(cudaMemset(workspace.data(), 0, workspace.bytes()), "Clearing a workspace");
  }
  return made;
}

}  // namespace engine

// The reference is a step of its own: the same operands and passes, nothing quantized.
#include "engine/linear/step_numerics.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "engine/linear/output_reference.h"
#include "engine/program/tensor_results.h"
#include "engine/quantize/quantize_cuda.h"
#include "engine/quantize/statistics_fold.h"
#include "kernels/diagnostics/statistics.h"

namespace engine {
namespace {

StepConfig reference_config(const StepConfig& config) {
  StepConfig reference = config;
  reference.layers = 1;
  reference.recipe = {.scaling = Scaling::None, .high_precision = config.recipe.high_precision};
  reference.emulated = false;
  reference.fp32_outputs = true;
  reference.workspace = WorkspaceStrategy::PerMatmul;
  reference.setup_arrays = SetupArrays::PerMatmul;
  reference.programmatic_launch = false;
  reference.products.accumulate_wgrad = false;
  reference.products.weight_storage = WeightStorage::Grouped;
  return reference;
}

std::int64_t gathered_bytes(const StepConfig& config) {
  return config.list() ? config.operand_bytes() * config.weight_rows() * config.k() : 0;
}

/// [groups] of one product.
Result<std::vector<kernels::GroupProductError>> product_errors(const StepOutput& output,
                                                               const StepOutput& reference,
                                                               int groups, cudaStream_t stream) {
  Result<DeviceBuffer> errors =
      DeviceBuffer::allocate(std::int64_t{sizeof(kernels::GroupProductError)} * groups,
                             {AllocationRole::Check, "errors of the product"});
  if (!errors.ok()) return errors.error();
  ENGINE_CUDA_TRY(cudaMemsetAsync(errors.value().data(), 0, errors.value().bytes(), stream),
                  "Clearing errors");
  ENGINE_CUDA_TRY(
      kernels::product_error({.product = output.values,
                              .product_type = output.type,
                              .reference = static_cast<const float*>(reference.values),
                              .row_offsets = output.row_offsets,
                              .num_groups = groups,
                              .capacity_rows = output.capacity_rows,
                              .columns = output.columns,
                              .errors = errors.value().as<kernels::GroupProductError>()},
                             stream),
      "Launching the error kernel");
  std::vector<kernels::GroupProductError> host(static_cast<std::size_t>(groups));
  ENGINE_TRY(
      copy_to_host(std::span<kernels::GroupProductError>(host), errors.value().data(), stream));
  return host;
}

class LinearReference final : public OutputReference {
 public:
  static Result<std::unique_ptr<LinearReference>> create(const GroupedStep& step,
                                                         cudaStream_t stream) {
    std::unique_ptr<LinearReference> made(new LinearReference(step, stream));
    ENGINE_ASSIGN(const kernels::GroupedInput weights, gather_weights(step, made->copy_, stream));
    const StepOperands& all = step.operands();
    StepOperands operands{
        .activations = all.activations, .gradients = all.gradients, .weights = {weights.input}};
    if (!all.biases.empty()) operands.biases.push_back(all.biases.front());
    ENGINE_ASSIGN(GroupedStep reference,
                  GroupedStep::create(step.library(), reference_config(step.config()),
                                      std::move(operands), {}, stream));
    made->reference_.emplace(std::move(reference));
    return made;
  }

  /// Calls `use` with the product and the errors [groups] of every output.
  template <class Use>
  Status each(std::span<const std::int64_t> splits, const Use& use) {
    ENGINE_TRY(reference_->route(splits, 0, stream_));
    StepObserver unobserved;
    ENGINE_TRY(reference_->launch(stream_, unobserved));
    const std::vector<StepOutput> wanted = reference_->all_outputs();
    for (const StepOutput& output : step_.all_outputs()) {
      if (output.layer != 0) continue;
      const auto same = std::ranges::find(wanted, output.product, &StepOutput::product);
      const auto errors = product_errors(output, *same, step_.config().num_groups(), stream_);
      if (!errors.ok()) return errors.error();
      use(output.product, errors.value());
    }
    return {};
  }

  Result<OutputErrors> errors(std::span<const std::int64_t> splits, std::size_t /*step*/) override {
    OutputErrors sums;
    ENGINE_TRY(each(splits, [&](Product product, const auto& groups) {
      for (const kernels::GroupProductError& one : groups) {
        kernels::add_errors(one, sums.of(product));
      }
    }));
    return sums;
  }

 private:
  LinearReference(const GroupedStep& step, cudaStream_t stream) : step_(step), stream_(stream) {}

  const GroupedStep& step_;
  cudaStream_t stream_;
  DeviceBuffer copy_;  // weights of a list, gathered
  std::optional<GroupedStep> reference_;
};

Status add_product_errors(const GroupedStep& step, cudaStream_t stream, RunResult& result) {
  const auto reference = LinearReference::create(step, stream);
  if (!reference.ok()) {
    if (reference.error().code != ErrorCode::Unsupported) return reference.error();
    // Without a reference the operands' statistics are still valid.
    result.deviations.push_back({.field = "experts",
                                 .requested = "error against the unquantized product",
                                 .effective = "not measured",
                                 .reason = reference.error().message});
    return {};
  }
  OutputErrors sums;
  ENGINE_TRY(reference.value()->each(result.splits, [&](Product product, const auto& groups) {
    for (std::size_t group = 0; group < result.splits.size(); ++group) {
      result.experts[group].of(product) = product_accuracy(groups[group]);
      kernels::add_errors(groups[group], sums.of(product));
    }
  }));
  sums.write_to(result.tensors);
  return {};
}

}  // namespace

Result<kernels::GroupedInput> gather_weights(const GroupedStep& step, DeviceBuffer& copy,
                                             cudaStream_t stream) {
  const StepConfig& config = step.config();
  kernels::GroupedInput weights = step.weights(0);
  if (!config.list()) return weights;
  ENGINE_ASSIGN(copy,
                DeviceBuffer::allocate(gathered_bytes(config),
                                       {AllocationRole::Check, "weights of a list, gathered"}));
  const std::int64_t bytes = gathered_bytes(config) / config.num_groups();
  for (int expert = 0; expert < config.num_groups(); ++expert) {
    ENGINE_CUDA_TRY(
        cudaMemcpyAsync(copy.data() + expert * bytes, step.weights_of_expert(0, expert),
                        static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice, stream),
        "Gathering a list of weights");
  }
  weights.input = copy.data();
  return weights;
}

std::int64_t numerics_bytes(const StepConfig& config) {
  const auto measured = [&](OperandRole role, std::int64_t rows, std::int64_t columns) {
    return measure_bytes(
        config.recipe, role,
        {.num_groups = config.num_groups(), .capacity_rows = rows, .columns = columns});
  };
  // One operand at a time, and none together with the reference.
  const std::int64_t operand =
      std::max({measured(OperandRole::Activations, config.capacity_rows(), config.k()),
                measured(OperandRole::Weights, config.weight_rows(), config.k()),
                measured(OperandRole::Gradients, config.capacity_rows(), config.n())});
  return gathered_bytes(config) + std::max(operand, GroupedStep::bytes(reference_config(config)));
}

Status measure_linear_numerics(const GroupedStep& step, cudaStream_t stream, RunResult& result) {
  const StepConfig& config = step.config();
  result.tensors = tensor_results(result.effective, result.splits);
  result.experts.clear();
  for (TensorResult& one : result.tensors) {
    const std::optional<TensorOperand> operand = operand_of(StepKind::Linear, one.tensor);
    if (!operand) continue;
    const bool weights = operand->role == OperandRole::Weights;
    const std::vector<std::int64_t> rows =
        weights ? std::vector<std::int64_t>(result.splits.size(), config.n()) : result.splits;
    DeviceBuffer copy;
    kernels::GroupedInput input;
    if (weights) {
      ENGINE_ASSIGN(input, gather_weights(step, copy, stream));
    } else {
      input = operand->role == OperandRole::Activations ? step.activations() : step.gradients();
    }
    ENGINE_ASSIGN(OperandNumbers numbers,
                  measure_on_device(config.recipe, operand->role, input, rows, stream));
    one.quantization = std::move(numbers.statistics);
    if (operand->role != OperandRole::Activations) continue;
    for (std::size_t group = 0; group < rows.size(); ++group) {
      result.experts.push_back(expert_result(rows[group], numbers.sums[group], config.quantized()));
    }
  }
  return add_product_errors(step, stream, result);
}

Result<std::unique_ptr<OutputReference>> make_output_reference(const GroupedStep& step,
                                                               cudaStream_t stream) {
  ENGINE_ASSIGN(std::unique_ptr<LinearReference> made, LinearReference::create(step, stream));
  return std::unique_ptr<OutputReference>(std::move(made));
}

}  // namespace engine

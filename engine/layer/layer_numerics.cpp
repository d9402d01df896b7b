// The reference is a layer of its own, in FP32 throughout: one cuBLASLt product per expert, since
// the grouped ones have no FP32.
#include "engine/layer/layer_numerics.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "engine/layer/error_sources.h"
#include "engine/layer/token_errors.h"
#include "engine/linear/step_numerics.h"
#include "engine/program/tensor_results.h"
#include "engine/quantize/quantize_cuda.h"
#include "engine/quantize/statistics_fold.h"
#include "kernels/dequantize/dequantize.h"
#include "kernels/dequantize/widen.h"
#include "kernels/diagnostics/statistics.h"

namespace engine {
namespace {

using Errors = std::vector<kernels::GroupProductError>;  // a group

/// One layer of it in FP32, nothing fused, nothing captured.
RunRequest reference_request(RunRequest request) {
  request.layers = 1;
  request.recipe = {.scaling = Scaling::None, .high_precision = ElementType::Fp32};
  request.backend = GemmBackend::CublasLtPerExpert;
  request.workspace = WorkspaceStrategy::PerMatmul;
  request.setup_arrays = SetupArrays::PerMatmul;
  request.programmatic_launch = false;
  request.launch = {};
  request.products.accumulate_wgrad = false;
  request.products.delayed_wgrad = false;
  request.products.weight_reuse = 1;
  request.products.weight_storage = WeightStorage::Grouped;
  request.products.wgrad_type = ElementType::Fp32;
  request.expert_layer.fused_activation = false;
  request.expert_layer.recompute_activation = false;
  request.expert_layer.mixed_recipes = false;
  return request;
}

StepConfig reference_projection(const StepConfig& config) {
  StepConfig reference(reference_request(config));
  reference.bias_type = config.recipe.high_precision;
  reference.scalars_per_group = config.scalars_per_group;
  return reference;
}

ExpertLayerConfig reference_config(const ExpertLayerConfig& config) {
  RunRequest request = reference_request(config.request);
  if (config.backward()) request.products.passes = StepPasses::ForwardBackward;
  ExpertLayerConfig reference(std::move(request), reference_projection(config.up),
                              reference_projection(config.down));
  reference.tokens = config.tokens;
  return reference;
}

/// An operand of the layer, unquantized.
struct Operand {
  StepTensor tensor;
  OperandRole role;
  const StepConfig* config;
  kernels::GroupedInput input;  // without an activation
};

class LayerNumerics final : public OutputReference {
 public:
  LayerNumerics(const ExpertLayerStep& step, cudaStream_t stream)
      : step_(step), config_(step.config()), stream_(stream) {}

  /// The reference, as it computes with these splits.
  Status open(const std::vector<std::int64_t>& splits) {
    ENGINE_TRY(collect_operands());
    return run_reference(splits);
  }

  Status measure(RunResult& result) {
    result.expert_layer.emplace();
    result.tensors = tensor_results(result.effective, result.splits);
    result.experts.assign(result.splits.size(), {});
    for (const Operand& operand : operands_) ENGINE_TRY(measure_operand(operand, result));
    ENGINE_TRY(measure_outputs(result));
    ENGINE_TRY(measure_token_errors(step_, *reference_, stream_, result));
    return config_.forward() ? measure_sources(result) : Status{};
  }

  Result<OutputErrors> errors(std::span<const std::int64_t> splits, std::size_t step) override {
    ENGINE_TRY(reference_->route(splits, step, stream_));
    StepObserver unobserved;
    ENGINE_TRY(reference_->launch(stream_, unobserved));
    OutputErrors sums;
    for (const StepOutput& output : step_.all_outputs()) {
      const std::size_t tensor = index_of(output);
      kernels::GroupProductError* const sum =
          tensor == static_cast<std::size_t>(StepTensor::Y)      ? &sums.y
          : tensor == static_cast<std::size_t>(StepTensor::DX)   ? &sums.dx
          : tensor == static_cast<std::size_t>(StepTensor::DWUp) ? &sums.dw
                                                                 : nullptr;
      if (output.layer > 1 || sum == nullptr) continue;  // of another layer
      ENGINE_ASSIGN(const Errors errors,
                    errors_of(tensor, output.values, output.type, output.row_offsets,
                              output.capacity_rows, output.columns));
      for (const kernels::GroupProductError& one : errors) kernels::add_errors(one, *sum);
    }
    return sums;
  }

 private:
  /// What operations between the products make of layer 0, by themselves: A or dH of a step.
  Result<const void*> made_rows(const ExpertLayerStep& step, StepTensor tensor, const char* label) {
    const ExpertLayerConfig& config = step.config();
    ENGINE_ASSIGN(DeviceBuffer values,
                  DeviceBuffer::allocate(config.up.capacity_rows() *
                                             extent_of(config.request, tensor).columns *
                                             config.up.operand_bytes(),
                                         {AllocationRole::Check, label}));
    const auto at = [&](StepTensor one) -> void* {
      return one == tensor ? values.data() : step.rows_of(one, 0);
    };
    // Of a step that fuses nothing.
    for (const ProgramPart& part : program_of(reference_config(config_).request).parts) {
      for (const Operation& operation : part.operations) {
        if (!operation.traits().by_row || operation.writes.front().tensor != tensor) continue;
        ENGINE_TRY(step.compute_rows(operation, at, stream_));
      }
    }
    buffers_.push_back(std::move(values));
    return static_cast<const void*>(buffers_.back().data());
  }

  Status collect_operands() {
    const GroupedStep& up = step_.up();
    const GroupedStep& down = step_.down();
    ENGINE_ASSIGN(const kernels::GroupedInput w_up, gather_weights(up, up_copy_, stream_));
    ENGINE_ASSIGN(const kernels::GroupedInput w_down, gather_weights(down, down_copy_, stream_));
    const auto plain = [](kernels::GroupedInput input, const void* values) {
      input.input = values;
      input.activation = {};
      input.output_gradient = nullptr;
      return input;
    };
    ENGINE_ASSIGN(const void* a, made_rows(step_, StepTensor::A, "activation of layer 0"));
    operands_.push_back({StepTensor::X, OperandRole::Activations, &config_.up, up.activations(0)});
    operands_.push_back({StepTensor::WUp, OperandRole::Weights, &config_.up, w_up});
    operands_.push_back({StepTensor::A, OperandRole::Activations, &config_.down,
                         plain(step_.activation_input(0), a)});
    operands_.push_back({StepTensor::WDown, OperandRole::Weights, &config_.down, w_down});
    if (!config_.backward()) return {};
    ENGINE_ASSIGN(const void* dh, made_rows(step_, StepTensor::DH, "activation of layer 0"));
    operands_.push_back({StepTensor::DY, OperandRole::Gradients, &config_.down, down.gradients(0)});
    operands_.push_back(
        {StepTensor::DH, OperandRole::Gradients, &config_.up, plain(step_.gradient_input(0), dh)});
    return {};
  }

  const Operand& operand(StepTensor tensor) const {
    return *std::ranges::find(operands_, tensor, &Operand::tensor);
  }

  /// The operand in FP32, kept for the reference.
  Result<const void*> widened(StepTensor tensor) {
    const kernels::GroupedInput& input = operand(tensor).input;
    const std::int64_t count = input.capacity_rows * input.columns;
    ENGINE_ASSIGN(DeviceBuffer values,
                  DeviceBuffer::allocate(count * std::int64_t{sizeof(float)},
                                         {AllocationRole::Check, "operand in FP32"}));
    ENGINE_CUDA_TRY(kernels::widen({.input = input.input,
                                    .type = input.type,
                                    .output = values.as<float>(),
                                    .count = count},
                                   stream_),
                    "Launching the widen kernel");
    const auto index = static_cast<std::size_t>(tensor);
    widened_[index] = values.as<float>();
    references_[index] = widened_[index];
    buffers_.push_back(std::move(values));
    return static_cast<const void*>(widened_[index]);
  }

  /// Xt or dYt in FP32, for a reference that begins at tokens, too.
  Result<const void*> widened_tokens(const void* values) {
    const std::int64_t count = config_.tokens->tokens() * config_.up.k();
    ENGINE_ASSIGN(DeviceBuffer wide,
                  DeviceBuffer::allocate(count * std::int64_t{sizeof(float)},
                                         {AllocationRole::Check, "tokens in FP32"}));
    ENGINE_CUDA_TRY(kernels::widen({.input = values,
                                    .type = config_.up.recipe.high_precision,
                                    .output = wide.as<float>(),
                                    .count = count},
                                   stream_),
                    "Launching the widen kernel");
    buffers_.push_back(std::move(wide));
    return static_cast<const void*>(buffers_.back().data());
  }

  Status run_reference(const std::vector<std::int64_t>& splits) {
    ExpertLayerConfig config = reference_config(config_);
    config.up.host_splits = splits;
    config.down.host_splits = splits;
    ExpertLayerStep::Operands operands;
    const bool tokens = step_.tokens() != nullptr;
    ENGINE_ASSIGN(const void* x,
                  tokens ? widened_tokens(step_.x_tokens()) : widened(StepTensor::X));
    operands.up.activations.push_back({.input = x});
    ENGINE_ASSIGN(const void* w_up, widened(StepTensor::WUp));
    operands.up.weights.push_back(w_up);
    ENGINE_ASSIGN(const void* w_down, widened(StepTensor::WDown));
    operands.down.weights.push_back(w_down);
    if (config_.backward()) {
      ENGINE_ASSIGN(const void* dy,
                    tokens ? widened_tokens(step_.dy_tokens()) : widened(StepTensor::DY));
      operands.down.gradients.push_back({.input = dy});
    }
    const auto bias = [](const GroupedStep& step, StepOperands& to) {
      const std::vector<const void*>& all = step.operands().biases;
      if (!all.empty()) to.biases.push_back(all.front());
    };
    bias(step_.up(), operands.up);
    bias(step_.down(), operands.down);
    ENGINE_ASSIGN(reference_, ExpertLayerStep::create(step_.up().library(), config,
                                                      std::move(operands), stream_));
    ENGINE_TRY(reference_->write_splits(splits, stream_));
    StepObserver unobserved;
    ENGINE_TRY(reference_->launch(stream_, unobserved));
    if (tokens) take_rows_of_reference();
    for (const StepOutput& output : reference_->all_outputs()) {
      references_[index_of(output)] = static_cast<const float*>(output.values);
    }
    ENGINE_ASSIGN(const void* a, made_rows(*reference_, StepTensor::A, "activation in FP32"));
    references_[static_cast<std::size_t>(StepTensor::A)] = static_cast<const float*>(a);
    if (!config_.backward()) return {};
    ENGINE_ASSIGN(const void* dh, made_rows(*reference_, StepTensor::DH, "activation in FP32"));
    references_[static_cast<std::size_t>(StepTensor::DH)] = static_cast<const float*>(dh);
    return {};
  }

  /// X and dY that the reference has permuted itself.
  void take_rows_of_reference() {
    const auto take = [&](StepTensor tensor, const void* values) {
      const auto index = static_cast<std::size_t>(tensor);
      widened_[index] = static_cast<float*>(const_cast<void*>(values));
      references_[index] = widened_[index];
    };
    take(StepTensor::X, reference_->tokens()->x());
    if (config_.backward()) take(StepTensor::DY, reference_->tokens()->dy());
  }

  /// Of an output of layer 0.
  static std::size_t index_of(const StepOutput& output) {
    const bool up = output.layer == 0;
    switch (output.product) {
      case Product::Fprop:
        return static_cast<std::size_t>(up ? StepTensor::H : StepTensor::Y);
      case Product::Dgrad:
        return static_cast<std::size_t>(up ? StepTensor::DX : StepTensor::DA);
      case Product::Wgrad:
        break;
    }
    return static_cast<std::size_t>(up ? StepTensor::DWUp : StepTensor::DWDown);
  }

  /// Of values against the reference of the tensor.
  Result<Errors> errors_of(std::size_t tensor, const void* values, ElementType type,
                           const std::int64_t* row_offsets, std::int64_t capacity_rows,
                           std::int64_t columns) const {
    const int groups = step_.num_groups();
    ENGINE_ASSIGN(const DeviceBuffer sums,
                  DeviceBuffer::allocate(std::int64_t{sizeof(kernels::GroupProductError)} * groups,
                                         {AllocationRole::Check, "errors of a tensor"}));
    ENGINE_CUDA_TRY(cudaMemsetAsync(sums.data(), 0, sums.bytes(), stream_), "Clearing errors");
    ENGINE_CUDA_TRY(kernels::product_error({.product = values,
                                            .product_type = type,
                                            .reference = references_[tensor],
                                            .row_offsets = row_offsets,
                                            .num_groups = groups,
                                            .capacity_rows = capacity_rows,
                                            .columns = columns,
                                            .errors = sums.as<kernels::GroupProductError>()},
                                           stream_),
                    "Launching the error kernel");
    Errors errors(static_cast<std::size_t>(groups));
    ENGINE_TRY(copy_to_host(std::span<kernels::GroupProductError>(errors), sums.data(), stream_));
    return errors;
  }

  static ProductAccuracy accuracy_of_all(const Errors& errors) {
    kernels::GroupProductError all{};
    for (const kernels::GroupProductError& one : errors) kernels::add_errors(one, all);
    return product_accuracy(all);
  }

  Status measure_operand(const Operand& operand, RunResult& result) {
    std::vector<std::int64_t> rows = result.splits;
    if (operand.role == OperandRole::Weights) rows.assign(rows.size(), operand.config->n());
    const Recipe& recipe = operand.config->recipe;
    ENGINE_ASSIGN(OperandNumbers numbers,
                  measure_on_device(recipe, operand.role, operand.input, rows, stream_));
    TensorResult& one = tensor_row(result, operand.tensor);
    one.quantization = std::move(numbers.statistics);
    if (operand.tensor == StepTensor::X) {
      for (std::size_t group = 0; group < rows.size(); ++group) {
        result.experts[group] =
            expert_result(rows[group], numbers.sums[group], operand.config->quantized());
      }
    }
    const kernels::GroupedInput& input = operand.input;
    const void* values = input.input;
    ElementType type = input.type;
    DeviceBuffer decoded;
    if (operand.config->quantized()) {
      ENGINE_ASSIGN(const CudaQuantizer quantizer,
                    CudaQuantizer::create({.recipe = recipe,
                                           .role = operand.role,
                                           .input = input,
                                           .seed = operand.config->seed},
                                          stream_));
      StepObserver unobserved;
      for (int cast = 0; cast < traits_of(recipe).warm_up_steps(); ++cast) {
        ENGINE_TRY(quantizer.quantize(stream_, unobserved));
      }
      ENGINE_ASSIGN(decoded, DeviceBuffer::allocate(
                                 input.capacity_rows * input.columns * std::int64_t{sizeof(float)},
                                 {AllocationRole::Check, "decoded operand"}));
      ENGINE_CUDA_TRY(kernels::dequantize({.quantized = quantizer.view(kernels::Direction::Rowwise),
                                           .output = decoded.data()},
                                          stream_),
                      "Launching the dequantize kernel");
      values = decoded.data();
      type = ElementType::Fp32;
      ENGINE_CUDA_TRY(cudaStreamSynchronize(stream_), "Decoding an operand");
    }
    if (is_forward_operand(operand.tensor)) {
      forward_operands_.push_back({.tensor = operand.tensor,
                                   .input = input,
                                   .decoded = decoded.as<float>(),
                                   .read = widened_[static_cast<std::size_t>(operand.tensor)]});
    }
    ENGINE_ASSIGN(const Errors errors,
                  errors_of(static_cast<std::size_t>(operand.tensor), values, type,
                            input.row_offsets, input.capacity_rows, input.columns));
    one.error = accuracy_of_all(errors);
    if (is_forward_operand(operand.tensor)) buffers_.push_back(std::move(decoded));
    return {};
  }

  /// X and weights, of a forward pass: where errors come from is measured with them once more.
  bool is_forward_operand(StepTensor tensor) const {
    return config_.forward() && tensor != StepTensor::A && !traits_of(tensor).backward;
  }

  Status measure_sources(RunResult& result) {
    // The reference's own Y is overwritten by the trials.
    const std::int64_t bytes =
        config_.down.capacity_rows() * config_.down.n() * std::int64_t{sizeof(float)};
    ENGINE_ASSIGN(const DeviceBuffer lossless,
                  DeviceBuffer::allocate(bytes, {AllocationRole::Check, "Y in FP32"}));
    ENGINE_CUDA_TRY(
        cudaMemcpyAsync(lossless.data(), reference_->down().outputs(0).y,
                        static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice, stream_),
        "Keeping Y");
    return measure_error_sources(step_, *reference_, forward_operands_, lossless.as<float>(),
                                 stream_, result);
  }

  Status measure_outputs(RunResult& result) {
    std::vector<StepOutput> outputs = step_.all_outputs();
    if (!config_.forward()) {
      // H is there too, made by prepare().
      for (const StepOutput& output : step_.up().all_outputs()) {
        if (output.product == Product::Fprop) outputs.push_back(output);
      }
    }
    for (const StepOutput& output : outputs) {
      if (output.layer > 1) continue;  // of another layer
      const std::size_t tensor = index_of(output);
      ENGINE_ASSIGN(const Errors errors,
                    errors_of(tensor, output.values, output.type, output.row_offsets,
                              output.capacity_rows, output.columns));
      tensor_row(result, static_cast<StepTensor>(tensor)).error = accuracy_of_all(errors);
      for (std::size_t group = 0; group < errors.size(); ++group) {
        ExpertResult& row = result.experts[group];
        const ProductAccuracy accuracy = product_accuracy(errors[group]);
        if (tensor == static_cast<std::size_t>(StepTensor::Y)) row.fprop = accuracy;
        if (tensor == static_cast<std::size_t>(StepTensor::DX)) row.dgrad = accuracy;
        if (tensor == static_cast<std::size_t>(StepTensor::DWUp)) row.wgrad = accuracy;
      }
    }
    return {};
  }

  const ExpertLayerStep& step_;
  const ExpertLayerConfig& config_;
  cudaStream_t stream_;
  DeviceBuffer up_copy_, down_copy_;  // weights of lists, gathered
  std::vector<DeviceBuffer> buffers_;
  std::vector<Operand> operands_;
  std::unique_ptr<ExpertLayerStep> reference_;
  std::array<const float*, kStepTensors.size()> references_ = {};
  std::array<float*, kStepTensors.size()> widened_ = {};  // of references_, those in buffers_
  std::vector<ForwardOperand> forward_operands_;
};

}  // namespace

Status measure_layer_numerics(const ExpertLayerStep& step, cudaStream_t stream, RunResult& result) {
  LayerNumerics numerics(step, stream);
  ENGINE_TRY(numerics.open(result.splits));
  return numerics.measure(result);
}

Result<std::unique_ptr<OutputReference>> make_output_reference(
    const ExpertLayerStep& step, const std::vector<std::int64_t>& splits, cudaStream_t stream) {
  auto made = std::make_unique<LayerNumerics>(step, stream);
  ENGINE_TRY(made->open(splits));
  return std::unique_ptr<OutputReference>(std::move(made));
}

std::int64_t layer_numerics_bytes(const ExpertLayerConfig& config) {
  const std::int64_t tokens = config.up.capacity_rows();
  const std::int64_t n = config.up.n();
  const std::int64_t k = config.up.k();
  const std::int64_t a = config.down.k();
  const std::int64_t weights = config.up.num_groups() * (n * k + k * a);
  const std::int64_t passes = config.backward() ? 2 : 1;
  // Operands in FP32, what the activation makes in both precisions, and one operand decoded.
  const std::int64_t wide =
      4 * (weights + passes * tokens * (k + n + a) +
           std::max({config.up.num_groups() * n * k, tokens * n, tokens * k}));
  const std::int64_t lists = config.up.list() ? weights * config.up.operand_bytes() : 0;
  const auto measured = [&](const StepConfig& of, OperandRole role, std::int64_t rows,
                            std::int64_t columns) {
    return measure_bytes(
        of.recipe, role,
        {.num_groups = of.num_groups(), .capacity_rows = rows, .columns = columns});
  };
  const std::int64_t operand =
      std::max({measured(config.up, OperandRole::Activations, tokens, k),
                measured(config.up, OperandRole::Weights, config.up.weight_rows(), k),
                measured(config.down, OperandRole::Activations, tokens, a),
                measured(config.down, OperandRole::Weights, config.down.weight_rows(), a),
                measured(config.up, OperandRole::Gradients, tokens, n),
                measured(config.down, OperandRole::Gradients, tokens, k)});
  std::int64_t sources = 0;
  if (config.forward()) {
    // X and weights decoded, and the lossless Y.
    sources = 4 * (weights + 2 * tokens * k) + error_source_bytes(config);
  }
  return wide + lists + operand + sources + ExpertLayerStep::bytes(reference_config(config));
}

}  // namespace engine

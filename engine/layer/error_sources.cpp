#include "engine/layer/error_sources.h"

#include <span>

#include "engine/program/error_sources.h"
#include "engine/quantize/quantize_cuda.h"
#include "engine/quantize/statistics_fold.h"
#include "kernels/bias/bias.h"
#include "kernels/dequantize/dequantize.h"
#include "kernels/dequantize/narrow.h"
#include "kernels/dequantize/widen.h"
#include "kernels/diagnostics/statistics.h"

namespace engine {
namespace {

using kernels::Direction;

class SourceTrials {
 public:
  SourceTrials(const ExpertLayerStep& step, const ExpertLayerStep& reference,
               const std::vector<ForwardOperand>& operands, const float* y, cudaStream_t stream)
      : step_(step),
        config_(step.config()),
        reference_(reference),
        operands_(operands),
        y_(y),
        stream_(stream) {}

  Status measure(RunResult& result) {
    ENGINE_TRY(allocate());
    for (const StepTensor source : error_sources(program_of(config_.request))) {
      ENGINE_ASSIGN(const ProductAccuracy y,
                    accuracy_of_y([&](StepTensor one) { return one == source; }));
      tensor_row(result, source).unquantized_y = {y.snr_db, y.left_out()};
    }
    ENGINE_ASSIGN(const ProductAccuracy unquantized,
                  accuracy_of_y([](StepTensor) { return true; }));
    result.expert_layer = {unquantized.snr_db, unquantized.left_out()};
    return {};
  }

 private:
  Status allocate() {
    const std::int64_t rows = config_.up.capacity_rows();
    const auto take = [&](DeviceBuffer& buffer, std::int64_t bytes) -> Status {
      ENGINE_ASSIGN(buffer, DeviceBuffer::allocate(
                                bytes, {AllocationRole::Check, "trial of where errors come from"}));
      return {};
    };
    ENGINE_TRY(take(h_, rows * config_.up.n() * config_.up.operand_bytes()));
    ENGINE_TRY(take(a_, rows * config_.down.k() * config_.up.operand_bytes()));
    ENGINE_TRY(take(made_, rows * config_.down.n() * config_.up.operand_bytes()));
    return take(errors_, std::int64_t{sizeof(kernels::GroupProductError)} * step_.num_groups());
  }

  /// A, once it was computed.
  kernels::GroupedInput a_input() const {
    kernels::GroupedInput input = step_.activation_input(0);
    input.input = a_.data();
    input.activation = {};
    return input;
  }

  static std::int64_t count_of(const kernels::GroupedInput& input) {
    return input.capacity_rows * input.columns;
  }

  Status widen(const kernels::GroupedInput& input, float* output) const {
    return check_cuda(
        kernels::widen(
            {.input = input.input, .type = input.type, .output = output, .count = count_of(input)},
            stream_),
        "Launching the widen kernel");
  }

  Status narrow(const void* values, std::int64_t columns, void* output) const {
    return check_cuda(kernels::narrow({.input = static_cast<const float*>(values),
                                       .output = output,
                                       .type = config_.up.recipe.high_precision,
                                       .count = config_.up.capacity_rows() * columns},
                                      stream_),
                      "Launching the narrow kernel");
  }

  /// A projection's product as the step rounds it: first itself, then with its bias.
  Status multiply(const GroupedStep& reference, const GroupedStep& own, void* output) {
    ENGINE_TRY(reference.launch_products(Product::Fprop, stream_, unobserved_));
    const StepConfig& config = own.config();
    ENGINE_TRY(narrow(reference.outputs(0).y, config.n(), output));
    if (!config.products.bias) return {};
    return check_cuda(kernels::add_bias({.values = output,
                                         .type = config.recipe.high_precision,
                                         .bias = own.operands().biases.front(),
                                         .bias_type = config.recipe.high_precision,
                                         .row_offsets = own.arrays().row_offsets.as<std::int64_t>(),
                                         .num_groups = config.num_groups(),
                                         .capacity_rows = config.capacity_rows(),
                                         .columns = config.n()},
                                        stream_),
                      "Launching the bias kernel");
  }

  Status load(const ForwardOperand& operand, bool exact) const {
    if (exact || operand.decoded == nullptr) return widen(operand.input, operand.read);
    return check_cuda(cudaMemcpyAsync(operand.read, operand.decoded,
                                      static_cast<std::size_t>(count_of(operand.input)) * 4,
                                      cudaMemcpyDeviceToDevice, stream_),
                      "Copying a decoded operand");
  }

  Status compute_a() {
    ENGINE_TRY(multiply(reference_.up(), step_.up(), h_.data()));
    const auto at = [this](StepTensor tensor) -> void* {
      return tensor == StepTensor::H ? h_.data() : a_.data();
    };
    for (const ProgramPart& part : reference_.program().parts) {
      if (part.pass != ProgramPass::Forward) continue;
      for (const Operation& operation : part.operations) {
        if (operation.traits().by_row) ENGINE_TRY(step_.compute_rows(operation, at, stream_));
      }
    }
    return {};
  }

  /// Into the memory that the reference's down projection reads.
  Status load_a(bool exact) {
    auto* const read = static_cast<float*>(
        const_cast<void*>(reference_.down().operands().activations.front().input));
    if (exact || !config_.down.quantized()) return widen(a_input(), read);
    // Anew: no amax of another trial in its history.
    ENGINE_ASSIGN(const CudaQuantizer quantizer,
                  CudaQuantizer::create({.recipe = config_.down.recipe,
                                         .role = OperandRole::Activations,
                                         .input = a_input(),
                                         .seed = config_.down.seed},
                                        stream_));
    for (int cast = 0; cast < traits_of(config_.down.recipe).warm_up_steps(); ++cast) {
      ENGINE_TRY(quantizer.quantize(stream_, unobserved_));
    }
    ENGINE_CUDA_TRY(kernels::dequantize(
                        {.quantized = quantizer.view(Direction::Rowwise), .output = read}, stream_),
                    "Launching the dequantize kernel");
    return check_cuda(cudaStreamSynchronize(stream_), "Quantizing A");
  }

  /// With these operands unquantized.
  template <class Exact>
  Result<ProductAccuracy> accuracy_of_y(Exact&& exact) {
    for (const ForwardOperand& operand : operands_) {
      ENGINE_TRY(load(operand, exact(operand.tensor)));
    }
    ENGINE_TRY(compute_a());
    ENGINE_TRY(load_a(exact(StepTensor::A)));
    ENGINE_TRY(multiply(reference_.down(), step_.down(), made_.data()));
    ENGINE_CUDA_TRY(cudaMemsetAsync(errors_.data(), 0, errors_.bytes(), stream_),
                    "Clearing errors");
    const kernels::GroupedInput rows = step_.activation_input(0);
    ENGINE_CUDA_TRY(kernels::product_error({.product = made_.data(),
                                            .product_type = config_.up.recipe.high_precision,
                                            .reference = y_,
                                            .row_offsets = rows.row_offsets,
                                            .num_groups = rows.num_groups,
                                            .capacity_rows = rows.capacity_rows,
                                            .columns = config_.down.n(),
                                            .errors = errors_.as<kernels::GroupProductError>()},
                                           stream_),
                    "Launching the error kernel");
    std::vector<kernels::GroupProductError> errors(static_cast<std::size_t>(step_.num_groups()));
    ENGINE_TRY(
        copy_to_host(std::span<kernels::GroupProductError>(errors), errors_.data(), stream_));
    kernels::GroupProductError all{};
    for (const kernels::GroupProductError& one : errors) kernels::add_errors(one, all);
    return product_accuracy(all);
  }

  const ExpertLayerStep& step_;
  const ExpertLayerConfig& config_;
  const ExpertLayerStep& reference_;
  const std::vector<ForwardOperand>& operands_;
  const float* y_;
  cudaStream_t stream_;
  StepObserver unobserved_;
  DeviceBuffer h_, a_, made_, errors_;  // H, A and Y in high precision
};

}  // namespace

Status measure_error_sources(const ExpertLayerStep& step, const ExpertLayerStep& reference,
                             const std::vector<ForwardOperand>& operands, const float* y,
                             cudaStream_t stream, RunResult& result) {
  return SourceTrials(step, reference, operands, y, stream).measure(result);
}

std::int64_t error_source_bytes(const ExpertLayerConfig& config) {
  const std::int64_t rows = config.up.capacity_rows();
  const std::int64_t trial =
      rows * (config.up.n() + config.down.k() + config.down.n()) * config.up.operand_bytes();
  if (!config.down.quantized()) return trial;
  return trial + CudaQuantizer::bytes({.recipe = config.down.recipe,
                                       .role = OperandRole::Activations,
                                       .input = {.num_groups = config.down.num_groups(),
                                                 .capacity_rows = rows,
                                                 .columns = config.down.k()}});
}

}  // namespace engine

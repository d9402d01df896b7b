// Set-up of a step: checks, operands, outputs, products.
#include <fmt/format.h>

#include <utility>

#include "engine/linear/grouped_step.h"
#include "engine/linear/product_shape.h"
#include "kernels/bias/bias.h"

namespace engine {
namespace {

using kernels::Direction;

/// In the ledger: "X", or "A, layer 1" of a tensor that every layer has its own of.
std::string operand_name(const StepConfig& config, const OperandCopies& copies) {
  const std::string_view symbol = copies.role == OperandRole::Activations ? config.symbols.x
                                  : copies.role == OperandRole::Weights   ? config.symbols.w
                                                                          : config.symbols.dy;
  if (traits_of(copies.tensor).shared) return std::string(symbol);
  return fmt::format("{}, layer {}", symbol, copies.layer);
}

std::int64_t bias_partial_bytes(const StepConfig& config) {
  if (!config.products.bias || !config.backward()) return 0;
  return std::int64_t{sizeof(float)} *
         kernels::bias_partial_capacity(config.capacity_rows(), config.num_groups(), config.n());
}

}  // namespace

ProjectionProgram GroupedStep::program_alone(const StepConfig& config) {
  return ProjectionProgram(std::make_shared<const StepProgram>(program_of(config)));
}

Result<GroupedStep> GroupedStep::create(std::shared_ptr<const CublasLt> library,
                                        const StepConfig& config, StepOperands operands,
                                        std::vector<CallerOutputs> outputs, cudaStream_t stream) {
  return create(std::move(library), config, {.program = program_alone(config)}, std::move(operands),
                std::move(outputs), stream);
}

Result<GroupedStep> GroupedStep::create(std::shared_ptr<const CublasLt> library,
                                        const StepConfig& config, Part part, StepOperands operands,
                                        std::vector<CallerOutputs> outputs, cudaStream_t stream) {
  GroupedStep step;
  step.library_ = std::move(library);
  step.config_ = config;
  step.program_ = std::move(part.program);
  step.operands_ = std::move(operands);
  ENGINE_TRY(step.check_operands());
  ENGINE_ASSIGN(step.outputs_, caller_outputs(config, std::move(outputs)));
  ENGINE_ASSIGN(step.operands_.weight_lists, weight_lists(config, step.operands_));
  {
    // Projections of one layer have the same of these.
    const AllocationScope scope({AllocationRole::Unknown, config.symbols.part});
    ENGINE_ASSIGN(step.arrays_, StepArrays::create(config, stream));
    const bool apart = !step.program_.operations(OperationKind::FillBackwardArrays).empty();
    ENGINE_ASSIGN(step.pointers_, PointerArrays::create(config, step.arrays_, apart));
    step.workspaces_ = std::move(part.workspaces);
    if (step.workspaces_ == nullptr) {
      ENGINE_ASSIGN(step.workspaces_, Workspaces::create(config, stream));
    }
    ENGINE_TRY(step.make_bias_partials());
  }
  ENGINE_TRY(step.make_operands(stream));
  ENGINE_TRY(step.take_outputs(stream));
  ENGINE_TRY(step.make_products(stream));
  ENGINE_CUDA_TRY(cudaStreamSynchronize(stream), "Setting up the step");
  return step;
}

Status GroupedStep::check_operands() const {
  const auto layers = static_cast<std::size_t>(config_.layers);
  const auto refuse = [](std::string what) {
    return Error{ErrorCode::InvalidArgument, "The step has no " + std::move(what)};
  };
  const auto given = [&](OperandRole role, const std::vector<OperandInput>& inputs) {
    return std::ssize(inputs) == program_.operands(role) && inputs.front().input != nullptr;
  };
  if (!given(OperandRole::Activations, operands_.activations)) return refuse("activations");
  const bool listed = config_.list() && !operands_.weight_lists.empty();
  const std::size_t weights = listed ? operands_.weight_lists.size() : operands_.weights.size();
  if (weights != layers) {
    return refuse(
        fmt::format("weights for each of its {} layers ({} were given)", layers, weights));
  }
  if (config_.backward() && !given(OperandRole::Gradients, operands_.gradients)) {
    return refuse("gradients");
  }
  if (config_.products.bias && config_.forward() && operands_.biases.size() != layers) {
    return refuse(fmt::format("biases for each of its {} layers ({} were given)", layers,
                              operands_.biases.size()));
  }
  // A row of codes is a row of the matrix that cuBLASLt reads.
  const RecipeTraits& traits = traits_of(config_.recipe);
  const std::int64_t codes_aligned = 16 * 8 / traits.code_bits;
  if (config_.scaled_products() && config_.k() % codes_aligned != 0) {
    return Error{ErrorCode::Unsupported,
                 fmt::format("Native {} products need rows of {} and {} that are a multiple of {} "
                             "elements long (rows of codes start at multiples of 16 bytes), and "
                             "these have {}; choose a shape that gives them {}",
                             traits.title, config_.symbols.x, config_.symbols.w, codes_aligned,
                             config_.k(), kernels::round_up(config_.k(), codes_aligned))};
  }
  const bool per_expert = !traits_of(config_.backend).one_launch;
  if (per_expert && config_.host_splits.size() != static_cast<std::size_t>(config_.num_groups())) {
    return refuse("splits on the host, which the per-expert backend launches");
  }
  return {};
}

Status GroupedStep::make_bias_partials() {
  const std::int64_t bytes = bias_partial_bytes(config_);
  if (bytes == 0) return {};
  ENGINE_ASSIGN(bias_partials_,
                DeviceBuffer::allocate(bytes, {AllocationRole::Quantized, "bias gradient partials",
                                               BufferLife::Backward}));
  return {};
}

Status GroupedStep::make_operands(cudaStream_t stream) {
  const std::vector<Operation> sums = program_.operations(OperationKind::SumBias);
  const bool sums_bias = !sums.empty() && sums.front().summed_by_quantize;
  std::vector<StepOperand> weights;
  for (const OperandCopies& copies : program_.copies()) {
    const bool of_weights = copies.role == OperandRole::Weights;
    StepOperand::Setup setup{.copies = copies,
                             .input = input(copies.role, copies.layer),
                             .padded_offsets = arrays_.padded_offsets.as<std::int64_t>()};
    if (of_weights) {
      setup.listed = listed_weights(copies.layer);
      if (config_.products.weight_reuse > 1) setup.noop = arrays_.keep_weights.as<float>();
    }
    if (copies.role == OperandRole::Gradients && sums_bias) {
      setup.bias_partials = bias_partials_.as<float>();
    }
    const AllocationScope scope({AllocationRole::Quantized, operand_name(config_, copies)});
    ENGINE_ASSIGN(StepOperand operand, StepOperand::create(config_, setup, stream));
    (of_weights ? weights : quantized_).push_back(std::move(operand));
  }
  w_ = operands_.quantized_weights != nullptr
           ? operands_.quantized_weights
           : std::make_shared<const std::vector<StepOperand>>(std::move(weights));
  return {};
}

Status GroupedStep::take_outputs(cudaStream_t stream) {
  const auto take = [&](void*& target, std::int64_t bytes, std::string owner) -> Status {
    if (target != nullptr) return {};
    ENGINE_ASSIGN(DeviceBuffer buffer,
                  DeviceBuffer::allocate(bytes, {AllocationRole::Output, std::move(owner)}));
    // dW may be added to before it is ever overwritten.
    ENGINE_CUDA_TRY(cudaMemsetAsync(buffer.data(), 0, buffer.bytes(), stream),
                    "Clearing an output");
    target = buffer.data();
    owned_.push_back(std::move(buffer));
    return {};
  };
  const auto name = [](const char* what, auto layer) {
    return fmt::format("{}, layer {}", what, layer);
  };
  const std::int64_t rows = config_.capacity_rows();
  for (const Operation& product : program_.products()) {
    const int layer = product.layer;
    LayerOutputs& outputs = outputs_[static_cast<std::size_t>(layer)];
    switch (product.kind) {
      case OperationKind::Fprop:
        ENGINE_TRY(take(outputs.y, config_.output_bytes() * rows * config_.n(),
                        name(config_.symbols.y, layer)));
        break;
      case OperationKind::Dgrad:
        ENGINE_TRY(take(outputs.dx, config_.output_bytes() * rows * config_.k(),
                        name(config_.symbols.dx, layer)));
        break;
      default:
        ENGINE_TRY(take(outputs.dw, config_.wgrad_bytes() * config_.weight_rows() * config_.k(),
                        name(config_.symbols.dw, layer)));
    }
  }
  const bool shared = traits_of(program_.tensors().dy).shared;
  for (const Operation& sum : program_.operations(OperationKind::SumBias)) {
    ENGINE_TRY(take(outputs_[static_cast<std::size_t>(sum.layer)].bias_gradient,
                    config_.operand_bytes() * config_.num_groups() * config_.n(),
                    shared ? config_.symbols.db : name(config_.symbols.db, sum.layer)));
  }
  return {};
}

Status GroupedStep::make_products(cudaStream_t stream) {
  for (const Operation& product : program_.products()) ENGINE_TRY(add_product(product, stream));
  return {};
}

Status GroupedStep::add_product(const Operation& operation, cudaStream_t stream) {
  using enum OperandRole;
  const LayerOutputs& outputs = outputs_[static_cast<std::size_t>(operation.layer)];
  ProductSources sources{.product = product_of(operation.kind),
                         .index = static_cast<int>(products_.size())};
  const auto by_rows = [&](void* base, std::int64_t columns) {
    sources.d.rule.base = static_cast<std::byte*>(base);
    sources.d.rule.bytes_per_unit = config_.output_bytes() * columns;
  };
  switch (sources.product) {
    case Product::Fprop:
      sources.a = source(operation, Weights);
      sources.b = source(operation, Activations);
      by_rows(outputs.y, config_.n());
      break;
    case Product::Dgrad:
      sources.a = source(operation, Weights);
      sources.b = source(operation, Gradients);
      by_rows(outputs.dx, config_.k());
      break;
    case Product::Wgrad:
      sources.a = source(operation, Activations);
      sources.b = source(operation, Gradients);
      sources.d.rule.base = static_cast<std::byte*>(outputs.dw);
      sources.d.rule.bytes_per_group = config_.wgrad_bytes() * config_.n() * config_.k();
      break;
  }
  std::optional<ProductAlphas> alphas;
  if (config_.alpha_per_group()) {
    ENGINE_ASSIGN(alphas, ProductAlphas::create(config_, sources.a, sources.b, stream));
    sources.alphas = alphas->pointers();
  }
  ENGINE_ASSIGN(std::unique_ptr<GroupedProduct> matmul,
                make_product(library_, config_, arrays_, pointers_, sources, stream));
  products_.push_back({.layer = operation.layer,
                       .product = sources.product,
                       .writes = written_by(operation),
                       .matmul = std::move(matmul),
                       .alphas = std::move(alphas)});
  return {};
}

std::int64_t GroupedStep::bytes(const StepConfig& config) {
  return bytes(config, program_alone(config));
}

std::int64_t GroupedStep::bytes(const StepConfig& config, const ProjectionProgram& program) {
  // The driver allocates device memory in blocks of 2 MiB, which small arrays share.
  constexpr std::int64_t kSmallArrays = std::int64_t{8} << 20;
  std::int64_t total = kSmallArrays + Workspaces::bytes(config) + bias_partial_bytes(config);
  for (const OperandCopies& copies : program.copies()) {
    const bool weights = copies.role == OperandRole::Weights;
    const bool gradients = copies.role == OperandRole::Gradients;
    total += operand_bytes(
        config, {.copies = copies,
                 .input = {.num_groups = config.num_groups(),
                           .capacity_rows = weights ? config.weight_rows() : config.capacity_rows(),
                           .columns = gradients ? config.n() : config.k()}});
  }
  for (const Operation& product : program.products()) {
    switch (product.kind) {
      case OperationKind::Fprop:
        total += config.output_bytes() * config.capacity_rows() * config.n();
        break;
      case OperationKind::Dgrad:
        total += config.output_bytes() * config.capacity_rows() * config.k();
        break;
      default:
        total += config.wgrad_bytes() * config.weight_rows() * config.k();
    }
  }
  if (!traits_of(config.backend).one_launch) {
    total += kWorkspaceBytes * (config.streams - 1) * config.product_count();
  }
  return total;
}

}  // namespace engine

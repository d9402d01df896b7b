// Set-up of a step: checks, operands, outputs, products.
#include <fmt/format.h>

#include <utility>

#include "engine/linear/grouped_step.h"
#include "engine/linear/product_shape.h"
#include "kernels/bias/bias.h"

namespace engine {
namespace {

using kernels::Direction;

/// engine/device/buffer_life.h
void set_lives(StepOperand::Setup& setup, bool late) {
  switch (setup.role) {
    case OperandRole::Activations:
      setup.rowwise_life = BufferLife::Forward;
      setup.columnwise_life = late ? BufferLife::Backward : BufferLife::Saved;
      return;
    case OperandRole::Gradients:
      setup.rowwise_life = setup.columnwise_life = BufferLife::Backward;
      return;
    case OperandRole::Weights:
      return;
  }
}

StepOperand::Setup operand_setup(const StepConfig& config, OperandRole role) {
  switch (role) {
    case OperandRole::Gradients:
      return {.role = role, .rowwise = true, .columnwise = true};
    case OperandRole::Activations:
    case OperandRole::Weights:
      break;
  }
  // fprop reads rows; dgrad and wgrad read W's and X's columnwise copies.
  const bool late = role == OperandRole::Activations && config.late_activations;
  return {.role = role, .rowwise = config.forward(), .columnwise = config.backward() && !late};
}

/// In the ledger.
std::string operand_name(const StepConfig& config, const StepOperand::Setup& setup) {
  const auto of_layer = [&](const char* symbol, bool every) {
    return every ? fmt::format("{}, layer {}", symbol, setup.layer) : symbol;
  };
  switch (setup.role) {
    case OperandRole::Activations:
      return of_layer(config.symbols.x, config.fed_activations);
    case OperandRole::Gradients:
      return of_layer(config.symbols.dy, config.fed_gradients);
    case OperandRole::Weights:
      break;
  }
  return of_layer(config.symbols.w, true);
}

std::int64_t bias_partial_bytes(const StepConfig& config) {
  if (!config.linear.bias || !config.backward()) return 0;
  return std::int64_t{sizeof(float)} *
         kernels::bias_partial_capacity(config.capacity_rows, config.num_groups, config.n);
}

}  // namespace

Result<GroupedStep> GroupedStep::create(std::shared_ptr<const CublasLt> library,
                                        const StepConfig& config, StepOperands operands,
                                        std::vector<CallerOutputs> outputs, cudaStream_t stream,
                                        std::shared_ptr<const Workspaces> workspaces) {
  GroupedStep step;
  step.library_ = std::move(library);
  step.config_ = config;
  step.program_ = program_of(request_of(config));
  step.operands_ = std::move(operands);
  ENGINE_TRY(step.check_operands());
  ENGINE_ASSIGN(step.outputs_, caller_outputs(config, std::move(outputs)));
  ENGINE_ASSIGN(step.operands_.weight_lists, weight_lists(config, step.operands_));
  {
    // Projections of one layer have the same of these.
    const AllocationScope scope({AllocationRole::Unknown, config.symbols.part});
    ENGINE_ASSIGN(step.arrays_, StepArrays::create(config, stream));
    ENGINE_ASSIGN(step.pointers_, PointerArrays::create(config, step.arrays_));
    step.workspaces_ = std::move(workspaces);
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
  const auto given = [&](bool fed, const std::vector<FedOperand>& all, const void* one) {
    return fed ? all.size() == layers : one != nullptr;
  };
  if (!given(config_.fed_activations, operands_.fed_activations, operands_.activations)) {
    return refuse("activations");
  }
  const bool listed = config_.list() && !operands_.weight_lists.empty();
  const std::size_t weights = listed ? operands_.weight_lists.size() : operands_.weights.size();
  if (weights != layers) {
    return refuse(
        fmt::format("weights for each of its {} layers ({} were given)", layers, weights));
  }
  if (config_.backward() &&
      !given(config_.fed_gradients, operands_.fed_gradients, operands_.gradients)) {
    return refuse("gradients");
  }
  if (config_.shares_weights &&
      (operands_.quantized_weights == nullptr || operands_.quantized_weights->size() != layers)) {
    return refuse(fmt::format("quantized weights for each of its {} layers", layers));
  }
  if (config_.linear.bias && config_.forward() && operands_.biases.size() != layers) {
    return refuse(fmt::format("biases for each of its {} layers ({} were given)", layers,
                              operands_.biases.size()));
  }
  // A row of codes is a row of the matrix that cuBLASLt reads.
  const RecipeTraits& traits = traits_of(config_.recipe);
  const std::int64_t codes_aligned = 16 * 8 / traits.code_bits;
  if (config_.scaled_products() && config_.k % codes_aligned != 0) {
    return Error{ErrorCode::Unsupported,
                 fmt::format("Native {} products need rows of {} and {} that are a multiple of {} "
                             "elements long (rows of codes start at multiples of 16 bytes), and "
                             "these have {}; choose a shape that gives them {}",
                             traits.title, config_.symbols.x, config_.symbols.w, codes_aligned,
                             config_.k, kernels::round_up(config_.k, codes_aligned))};
  }
  const bool per_expert = !traits_of(config_.backend).one_launch;
  if (per_expert && config_.host_splits.size() != static_cast<std::size_t>(config_.num_groups)) {
    return refuse("splits on the host, which the per-expert backend launches");
  }
  return {};
}

bool GroupedStep::fused_bias() const { return traits_of(config_.recipe).sums_bias; }

Status GroupedStep::make_bias_partials() {
  const std::int64_t bytes = bias_partial_bytes(config_);
  if (bytes == 0) return {};
  ENGINE_ASSIGN(bias_partials_,
                DeviceBuffer::allocate(bytes, {AllocationRole::Quantized, "bias gradient partials",
                                               BufferLife::Backward}));
  return {};
}

Status GroupedStep::make_operands(cudaStream_t stream) {
  const auto add = [&](std::vector<StepOperand>& to, StepOperand::Setup setup,
                       const kernels::GroupedInput& input) -> Status {
    setup.input = input;
    const AllocationScope operand_scope({AllocationRole::Quantized, operand_name(config_, setup)});
    setup.padded_offsets = arrays_.padded_offsets.as<std::int64_t>();
    ENGINE_ASSIGN(StepOperand operand, StepOperand::create(config_, setup, stream));
    to.push_back(std::move(operand));
    return {};
  };
  for (int layer = 0; layer < config_.activation_operands(); ++layer) {
    StepOperand::Setup setup = operand_setup(config_, OperandRole::Activations);
    setup.layer = layer;
    set_lives(setup, false);
    ENGINE_TRY(add(x_, setup, activations(layer)));
    if (!config_.late_activations || !config_.backward()) continue;
    std::swap(setup.rowwise, setup.columnwise);
    set_lives(setup, true);
    ENGINE_TRY(add(late_x_, setup, activations(layer)));
  }
  std::vector<StepOperand> weight_operands;
  for (int layer = 0; !config_.shares_weights && layer < config_.layers; ++layer) {
    StepOperand::Setup setup = operand_setup(config_, OperandRole::Weights);
    setup.layer = layer;
    if (config_.linear.micro_batches > 1) setup.noop = arrays_.keep_weights.as<float>();
    for (int group = 0; config_.list() && group < config_.num_groups; ++group) {
      setup.listed.push_back(weights_of_expert(layer, group));
    }
    ENGINE_TRY(add(weight_operands, setup, weights(layer)));
  }
  w_ = config_.shares_weights
           ? operands_.quantized_weights
           : std::make_shared<const std::vector<StepOperand>>(std::move(weight_operands));
  if (!config_.backward()) return {};
  for (int layer = 0; layer < config_.gradient_operands(); ++layer) {
    StepOperand::Setup setup = operand_setup(config_, OperandRole::Gradients);
    setup.layer = layer;
    if (fused_bias()) setup.bias_partials = bias_partials_.as<float>();
    set_lives(setup, false);
    ENGINE_TRY(add(dy_, setup, gradients(layer)));
  }
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
  for (std::size_t layer = 0; layer < outputs_.size(); ++layer) {
    LayerOutputs& outputs = outputs_[layer];
    const std::int64_t rows = config_.capacity_rows;
    if (config_.forward()) {
      ENGINE_TRY(take(outputs.y, config_.output_bytes() * rows * config_.n,
                      name(config_.symbols.y, layer)));
    }
    if (!config_.backward()) continue;
    ENGINE_TRY(take(outputs.dx, config_.output_bytes() * rows * config_.k,
                    name(config_.symbols.dx, layer)));
    ENGINE_TRY(take(outputs.dw, config_.wgrad_bytes() * config_.weight_rows() * config_.k,
                    name(config_.symbols.dw, layer)));
  }
  if (!config_.linear.bias || !config_.backward()) return {};
  // Every layer that has its own dY has its own db.
  for (int layer = 0; layer < config_.gradient_operands(); ++layer) {
    ENGINE_TRY(take(outputs_[static_cast<std::size_t>(layer)].bias_gradient,
                    config_.operand_bytes() * config_.num_groups * config_.n,
                    config_.fed_gradients ? name(config_.symbols.db, layer) : "db"));
  }
  return {};
}

Status GroupedStep::make_products(cudaStream_t stream) {
  for (int layer = 0; config_.forward() && layer < config_.layers; ++layer) {
    ENGINE_TRY(add_product(layer, Product::Fprop, stream));
  }
  for (int layer = 0; config_.backward() && layer < config_.layers; ++layer) {
    ENGINE_TRY(add_product(layer, Product::Dgrad, stream));
    ENGINE_TRY(add_product(layer, Product::Wgrad, stream));
  }
  return {};
}

Status GroupedStep::add_product(int layer, Product product, cudaStream_t stream) {
  const auto index = static_cast<std::size_t>(layer);
  const LayerOutputs& outputs = outputs_[index];
  const auto of = [index](const std::vector<StepOperand>& operands) -> const StepOperand& {
    return operands[operands.size() == 1 ? 0 : index];
  };
  const StepOperand& saved_x = of(late_x_.empty() ? x_ : late_x_);
  const ProductDirections directions = product_directions(product);
  ProductSources sources{.product = product, .index = static_cast<int>(products_.size())};
  const auto by_rows = [&](void* base, std::int64_t columns) {
    sources.d.rule.base = static_cast<std::byte*>(base);
    sources.d.rule.bytes_per_unit = config_.output_bytes() * columns;
  };
  switch (product) {
    case Product::Fprop:
      sources.a = (*w_)[index].source(directions.a);
      sources.b = of(x_).source(directions.b);
      by_rows(outputs.y, config_.n);
      break;
    case Product::Dgrad:
      sources.a = (*w_)[index].source(directions.a);
      sources.b = of(dy_).source(directions.b);
      by_rows(outputs.dx, config_.k);
      break;
    case Product::Wgrad:
      sources.a = saved_x.source(directions.a);
      sources.b = of(dy_).source(directions.b);
      sources.d.rule.base = static_cast<std::byte*>(outputs.dw);
      sources.d.rule.bytes_per_group = config_.wgrad_bytes() * config_.n * config_.k;
      break;
  }
  std::optional<ProductAlphas> alphas;
  if (config_.alpha_per_group()) {
    ENGINE_ASSIGN(alphas, ProductAlphas::create(config_, sources.a, sources.b, stream));
    sources.alphas = alphas->pointers();
  }
  ENGINE_ASSIGN(std::unique_ptr<GroupedProduct> matmul,
                make_product(library_, config_, arrays_, pointers_, sources, stream));
  products_.push_back({.layer = layer,
                       .product = product,
                       .matmul = std::move(matmul),
                       .alphas = std::move(alphas)});
  return {};
}

std::int64_t GroupedStep::bytes(const StepConfig& config) {
  // The driver allocates device memory in blocks of 2 MiB, which small arrays share.
  constexpr std::int64_t kSmallArrays = std::int64_t{8} << 20;
  const auto operand = [&](OperandRole role, std::int64_t rows, std::int64_t columns) {
    StepOperand::Setup setup = operand_setup(config, role);
    if (role == OperandRole::Activations) setup.columnwise = config.backward();  // late or not
    setup.input = {.num_groups = config.num_groups, .capacity_rows = rows, .columns = columns};
    setup.padded_offsets = nullptr;
    return operand_bytes(config, setup);
  };
  std::int64_t layer =
      config.shares_weights ? 0 : operand(OperandRole::Weights, config.weight_rows(), config.k);
  if (config.forward()) layer += config.output_bytes() * config.capacity_rows * config.n;
  if (config.backward()) {
    layer += config.output_bytes() * config.capacity_rows * config.k +
             config.wgrad_bytes() * config.weight_rows() * config.k;
  }
  std::int64_t total = kSmallArrays + Workspaces::bytes(config) + bias_partial_bytes(config) +
                       config.activation_operands() *
                           operand(OperandRole::Activations, config.capacity_rows, config.k) +
                       layer * config.layers;
  if (config.backward()) {
    total += config.gradient_operands() *
             operand(OperandRole::Gradients, config.capacity_rows, config.n);
  }
  if (!traits_of(config.backend).one_launch) {
    total += kWorkspaceBytes * (config.streams - 1) * config.products();
  }
  return total;
}

}  // namespace engine

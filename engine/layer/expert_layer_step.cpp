#include "engine/layer/expert_layer_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/observe/scopes.h"
#include "engine/program/lives.h"
#include "engine/program/work.h"
#include "kernels/activation/activate.h"

namespace engine {
namespace {

CallerTensor weight_gradient(const GroupedStep& step, int layer) {
  const StepConfig& config = step.config();
  return {.values = step.outputs(layer).dw,
          .type = config.wgrad_type(),
          .rows = config.weight_rows(),
          .columns = config.k};
}

CallerTensor tensor(std::byte* values, const StepConfig& config, std::int64_t columns) {
  return {.values = values,
          .type = config.output_type(),
          .rows = config.capacity_rows,
          .columns = columns};
}

}  // namespace

void ExpertLayerConfig::connect() {
  up.fed_gradients = true;
  down.fed_activations = true;
  down.late_activations = recompute;
  up.symbols = symbols_of(StepKind::ExpertLayer, Projection::Up);
  down.symbols = symbols_of(StepKind::ExpertLayer, Projection::Down);
  up.tag_stride = 2;
  down.tag_stride = 2;
  down.tag_first = 1;
}

RunRequest request_of(const ExpertLayerConfig& config, int in_flight) {
  RunRequest request = request_of(config.up);
  request.step = StepKind::ExpertLayer;
  request.linear.passes = config.passes;
  request.expert_layer.fused_activation = config.fused;
  request.expert_layer.recompute_activation = config.recompute;
  request.expert_layer.top_k = config.top_k;
  request.expert_layer.mixed_recipes = config.down.recipe.scaling != config.up.recipe.scaling;
  request.expert_layer.down_scaling = config.down.recipe.scaling;
  request.launch.in_flight = in_flight;
  if (config.up.captured_apart) request.launch.graphs = StepGraphs::ForwardAndBackward;
  return request;
}

namespace {

/// Elements of one layer's.
std::int64_t elements_of(const ExpertLayerConfig& config, LayerTensor tensor) {
  const bool wide = tensor == LayerTensor::H || tensor == LayerTensor::DH;
  return config.up.capacity_rows * (wide ? config.up.n : config.down.k);
}

/// 0 where no operation writes it.
std::int64_t own_bytes(const ExpertLayerConfig& config, const StepProgram& program,
                       LayerTensor tensor) {
  if (!makes(program, tensor)) return 0;
  return places_of(program, tensor) * elements_of(config, tensor) * config.up.operand_bytes();
}

BufferLife buffer_life(ValueLife life) {
  switch (life) {
    case ValueLife::Caller:
    case ValueLife::Step:
      break;
    case ValueLife::Saved:
      return BufferLife::Saved;
    case ValueLife::Forward:
      return BufferLife::Forward;
    case ValueLife::Backward:
      return BufferLife::Backward;
  }
  return BufferLife::Step;
}

}  // namespace

Status ExpertLayerStep::make(OwnTensor& own, LayerTensor tensor, cudaStream_t stream) {
  if (!makes(program_, tensor)) return {};
  const std::string name(traits_of(tensor).symbol);
  ENGINE_ASSIGN(own.memory, DeviceBuffer::allocate(own_bytes(config_, program_, tensor),
                                                   {AllocationRole::Output, name,
                                                    buffer_life(life_of(program_, tensor))}));
  if (places_of(program_, tensor) > 1) {
    own.stride_bytes = elements_of(config_, tensor) * config_.up.operand_bytes();
  }
  // Rows behind the last expert's are never written.
  return check_cuda(cudaMemsetAsync(own.memory.data(), 0, own.memory.bytes(), stream),
                    "Clearing a tensor of the layer");
}

/// From now on the projections read what the permutation makes.
Status ExpertLayerStep::take_tokens(Operands& operands, cudaStream_t stream) {
  if (config_.top_k == 0) return {};
  ENGINE_ASSIGN(TokenPermutation tokens,
                TokenPermutation::create(config_.up, config_.tokens, config_.backward(), stream));
  tokens_.emplace(std::move(tokens));
  x_tokens_ = std::exchange(operands.up.activations, tokens_->x());
  if (config_.backward()) dy_tokens_ = std::exchange(operands.down.gradients, tokens_->dy());
  return {};
}

Result<std::unique_ptr<ExpertLayerStep>> ExpertLayerStep::create(
    std::shared_ptr<const CublasLt> library, ExpertLayerConfig config, Operands operands,
    cudaStream_t stream, const ExpertLayerStep* first) {
  config.connect();
  if (first != nullptr) {
    config.up.shares_weights = config.down.shares_weights = true;
    operands.up.quantized_weights = first->up().quantized_weights();
    operands.down.quantized_weights = first->down().quantized_weights();
  }
  std::unique_ptr<ExpertLayerStep> made(new ExpertLayerStep);
  made->config_ = config;
  ENGINE_TRY(made->take_tokens(operands, stream));
  made->micro_batch_ = first == nullptr ? 0 : 1;
  made->program_ = program_of(request_of(config, made->micro_batch_ + 1));
  const int layers = config.up.layers;
  ENGINE_TRY(made->make(made->h_, LayerTensor::H, stream));
  ENGINE_TRY(made->make(made->a_, LayerTensor::A, stream));
  ENGINE_TRY(made->make(made->da_, LayerTensor::DA, stream));
  ENGINE_TRY(made->make(made->dh_, LayerTensor::DH, stream));

  std::vector<CallerOutputs> up_outputs(static_cast<std::size_t>(layers));
  std::vector<CallerOutputs> down_outputs(static_cast<std::size_t>(layers));
  for (int layer = 0; layer < layers; ++layer) {
    const auto index = static_cast<std::size_t>(layer);
    up_outputs[index].y = tensor(made->h_.of(layer), config.up, config.up.n);
    operands.down.fed_activations.push_back(
        makes(made->program_, LayerTensor::A)
            ? FedOperand{.input = made->a_.of(layer)}
            : FedOperand{.input = made->h_.of(layer), .activation = config.activation});
    if (!config.backward()) continue;
    if (first != nullptr && config.up.linear.accumulate_wgrad) {
      up_outputs[index].dw = weight_gradient(first->up(), layer);
      down_outputs[index].dw = weight_gradient(first->down(), layer);
    }
    down_outputs[index].dx = tensor(made->da_.of(layer), config.down, config.down.k);
    operands.up.fed_gradients.push_back(makes(made->program_, LayerTensor::DH)
                                            ? FedOperand{.input = made->dh_.of(layer)}
                                            : FedOperand{.input = made->h_.of(layer),
                                                         .activation = config.activation,
                                                         .output_gradient = made->da_.of(layer)});
  }
  std::shared_ptr<const Workspaces> workspaces;
  if (Workspaces::can_share(config.up)) {
    ENGINE_ASSIGN(workspaces, Workspaces::create(config.up, stream));
  }
  ENGINE_ASSIGN(GroupedStep up, GroupedStep::create(library, config.up, std::move(operands.up),
                                                    std::move(up_outputs), stream, workspaces));
  made->up_.emplace(std::move(up));
  ENGINE_ASSIGN(GroupedStep down,
                GroupedStep::create(std::move(library), config.down, std::move(operands.down),
                                    std::move(down_outputs), stream, std::move(workspaces)));
  made->down_.emplace(std::move(down));
  return made;
}

std::int64_t ExpertLayerStep::bytes(const ExpertLayerConfig& config) {
  ExpertLayerConfig connected = config;
  connected.connect();
  const StepProgram program = program_of(request_of(connected));
  // The projections count H and dA as their outputs ...
  std::int64_t own = own_bytes(connected, program, LayerTensor::A) +
                     own_bytes(connected, program, LayerTensor::DH);
  // ... dA for every layer, though all may use one.
  if (config.backward()) {
    own -= (config.up.layers - places_of(program, LayerTensor::DA)) *
           elements_of(config, LayerTensor::DA) * config.up.operand_bytes();
  }
  const std::int64_t shared =
      Workspaces::can_share(config.up) ? Workspaces::bytes(config.down) : std::int64_t{0};
  const std::int64_t tokens =
      config.top_k == 0 ? 0
                        : TokenPermutation::bytes(connected.up, config.top_k, config.backward());
  return own + GroupedStep::bytes(connected.up) + GroupedStep::bytes(connected.down) - shared +
         tokens;
}

Status ExpertLayerStep::write_step(std::span<const std::int64_t> splits, std::size_t step,
                                   cudaStream_t stream) {
  if (tokens_) ENGINE_TRY(tokens_->write_splits(splits, step, stream));
  ENGINE_TRY(up_->write_step(splits, step, stream));
  return down_->write_step(splits, step, stream);
}

Status ExpertLayerStep::enqueue_splits(const void* splits, cudaStream_t stream) {
  if (tokens_) {
    const std::size_t offset = experts_offset(static_cast<std::size_t>(config_.up.num_groups),
                                              static_cast<std::size_t>(config_.up.split_bytes()));
    ENGINE_TRY(tokens_->enqueue(static_cast<const std::byte*>(splits) + offset, stream));
  }
  ENGINE_TRY(up_->enqueue_splits(splits, stream));
  return down_->enqueue_splits(splits, stream);
}

Status ExpertLayerStep::route(std::span<const std::int64_t> splits, std::size_t step,
                              cudaStream_t stream) {
  if (tokens_) ENGINE_TRY(tokens_->write_splits(splits, step, stream));
  ENGINE_TRY(up_->route(splits, step, stream));
  return down_->route(splits, step, stream);
}

Status ExpertLayerStep::keep_weights(bool keep, cudaStream_t stream) const {
  ENGINE_TRY(up_->keep_weights(keep, stream));
  return down_->keep_weights(keep, stream);
}

kernels::GroupedInput ExpertLayerStep::activation_input(int layer) const {
  return {.input = h_.of(layer),
          .type = config_.up.recipe.high_precision,
          .row_offsets = up_->arrays().row_offsets.as<std::int64_t>(),
          .num_groups = config_.up.num_groups,
          .capacity_rows = config_.up.capacity_rows,
          .columns = config_.down.k,
          .activation = config_.activation};
}

kernels::GroupedInput ExpertLayerStep::gradient_input(int layer) const {
  kernels::GroupedInput input = activation_input(layer);
  input.columns = config_.up.n;
  input.output_gradient = da_.of(layer);
  return input;
}

Status ExpertLayerStep::activate(int layer, cudaStream_t stream, StepObserver& observer) const {
  const WorkScope scope(observer, {.stage = Stage::Activation, .layer = config_.down.tag(layer)});
  return check_cuda(kernels::activate({.input = activation_input(layer), .output = a_.of(layer)},
                                      {stream, config_.up.programmatic}),
                    "Launching the activation kernel");
}

Status ExpertLayerStep::activate_gradient(int layer, cudaStream_t stream,
                                          StepObserver& observer) const {
  const WorkScope scope(observer, {.stage = Stage::Activation, .layer = config_.up.tag(layer)});
  return check_cuda(kernels::activate({.input = gradient_input(layer), .output = dh_.of(layer)},
                                      {stream, config_.up.programmatic}),
                    "Launching the activation kernel");
}

Status ExpertLayerStep::run(const Operation& operation, cudaStream_t stream,
                            StepObserver& observer) const {
  const int layer = operation.layer;
  switch (operation.kind) {
    case OperationKind::Activate:
      return activate(layer, stream, observer);
    case OperationKind::ActivateGradient:
      return activate_gradient(layer, stream, observer);
    case OperationKind::Permute:
      return permutes_ ? tokens_->permute(x_tokens_, stream, observer) : Status{};
    case OperationKind::Unpermute:
      return permutes_ ? tokens_->unpermute(layer, down_->outputs(layer).y, stream, observer)
                       : Status{};
    case OperationKind::PermuteGradient:
      return permutes_ ? tokens_->permute_gradient(layer, dy_tokens_, down_->outputs(layer).y,
                                                   stream, observer)
                       : Status{};
    case OperationKind::UnpermuteGradient:
      return permutes_
                 ? tokens_->unpermute_gradient(layer, up_->outputs(layer).dx, stream, observer)
                 : Status{};
    default:
      return (operation.projection == Projection::Up ? up_ : down_)
          ->run(operation, stream, observer);
  }
}

Status ExpertLayerStep::run(ProgramPass pass, cudaStream_t stream, StepObserver& observer) const {
  for (const ProgramPart& part : program_.parts) {
    if (part.pass != pass || part.micro_batch != micro_batch_) continue;
    for (const Operation& operation : part.operations) {
      ENGINE_TRY(run(operation, stream, observer));
    }
  }
  return {};
}

Status ExpertLayerStep::launch_forward(cudaStream_t stream, StepObserver& observer) const {
  return run(ProgramPass::Forward, stream, observer);
}

Status ExpertLayerStep::launch_backward(cudaStream_t stream, StepObserver& observer) const {
  return run(ProgramPass::Backward, stream, observer);
}

Status ExpertLayerStep::launch(cudaStream_t stream, StepObserver& observer) const {
  ENGINE_TRY(launch_forward(stream, observer));
  return launch_backward(stream, observer);
}

Status ExpertLayerStep::prepare(cudaStream_t stream, StepObserver& observer) const {
  for (int time = 0; !program_.prepare.empty() && time < program_.prepare_times; ++time) {
    for (const Operation& operation : program_.prepare) {
      ENGINE_TRY(run(operation, stream, observer));
    }
  }
  return {};
}

Result<std::vector<ProductTrial>> ExpertLayerStep::try_candidates(cudaStream_t stream) {
  ENGINE_ASSIGN(std::vector<ProductTrial> trials, up_->try_candidates(stream));
  ENGINE_ASSIGN(const std::vector<ProductTrial> more, down_->try_candidates(stream));
  trials.insert(trials.end(), more.begin(), more.end());
  if (config_.forward()) return trials;
  // Trying fprop has overwritten the H that every launch reads, and it is no part of this step.
  std::erase_if(trials, [](const ProductTrial& one) { return one.product == Product::Fprop; });
  StepObserver unobserved;
  ENGINE_TRY(prepare(stream, unobserved));
  return trials;
}

Result<std::vector<ProductTrial>> ExpertLayerStep::try_candidates_by_pass(cudaStream_t stream) {
  std::vector<ProductTrial> trials;
  StepObserver unobserved;
  for (const bool fprop : {true, false}) {
    ENGINE_TRY(launch_forward(stream, unobserved));
    if (!fprop) ENGINE_TRY(launch_backward(stream, unobserved));
    for (GroupedStep* projection : {&*up_, &*down_}) {
      ENGINE_ASSIGN(const std::vector<ProductTrial> tried,
                    projection->try_candidates(stream, fprop));
      trials.insert(trials.end(), tried.begin(), tried.end());
    }
  }
  return trials;
}

Status ExpertLayerStep::check_splits(cudaStream_t stream) const {
  ENGINE_TRY(up_->check_splits(stream));
  return down_->check_splits(stream);
}

std::vector<StepOutput> ExpertLayerStep::all_outputs() const {
  std::vector<StepOutput> outputs;
  for (const GroupedStep* projection : {&*up_, &*down_}) {
    for (StepOutput& output : projection->all_outputs()) {
      // Of a backward step these are what prepare() has made.
      if (!config_.forward() && output.product == Product::Fprop) continue;
      // The memory of dA is that of every layer: only the first one's, computed last, is there.
      const bool overwritten = projection == &*down_ && output.product == Product::Dgrad &&
                               output.layer != config_.down.tag(0);
      if (!overwritten) outputs.push_back(output);
    }
  }
  return outputs;
}

std::vector<StepOutput> ExpertLayerStep::caller_outputs() const {
  std::vector<StepOutput> outputs = all_outputs();
  std::erase_if(outputs, [](const StepOutput& output) {
    const bool up = projection_at(output.layer) == Projection::Up;
    return output.product == (up ? Product::Fprop : Product::Dgrad);
  });
  return outputs;
}

}  // namespace engine

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
          .columns = config.k()};
}

CallerTensor tensor(std::byte* values, const StepConfig& config, std::int64_t columns) {
  return {.values = values,
          .type = config.output_type(),
          .rows = config.capacity_rows(),
          .columns = columns};
}

}  // namespace

ExpertLayerConfig::ExpertLayerConfig(RunRequest layer, StepConfig up_projection,
                                     StepConfig down_projection)
    : request(std::move(layer)), up(std::move(up_projection)), down(std::move(down_projection)) {
  for (const Projection which : {Projection::Up, Projection::Down}) {
    StepConfig& config = which == Projection::Up ? up : down;
    config.symbols = symbols_of(StepKind::ExpertLayer, which);
    config.tag_stride = 2;
    config.tag_first = which == Projection::Up ? 0 : 1;
  }
}

kernels::Activation ExpertLayerConfig::activation() const {
  return traits_of(request.expert_layer.activation).formula;
}

namespace {

/// Elements of one layer's.
std::int64_t elements_of(const ExpertLayerConfig& config, StepTensor tensor) {
  return config.up.capacity_rows() * extent_of(config.request, tensor).columns;
}

/// 0 where no operation writes it.
std::int64_t own_bytes(const ExpertLayerConfig& config, const StepProgram& program,
                       StepTensor tensor) {
  if (!makes(program, tensor)) return 0;
  return places_of(program, tensor) * elements_of(config, tensor) * config.up.operand_bytes();
}

}  // namespace

Status ExpertLayerStep::make(OwnTensor& own, StepTensor tensor, cudaStream_t stream) {
  const std::optional<BufferLife> life = life_of(*program_, tensor);
  if (!life) return {};
  const std::string name(traits_of(tensor).symbol);
  ENGINE_ASSIGN(own.memory, DeviceBuffer::allocate(own_bytes(config_, *program_, tensor),
                                                   {AllocationRole::Output, name, *life}));
  if (places_of(*program_, tensor) > 1) {
    own.stride_bytes = elements_of(config_, tensor) * config_.up.operand_bytes();
  }
  // Rows behind the last expert's are never written.
  return check_cuda(cudaMemsetAsync(own.memory.data(), 0, own.memory.bytes(), stream),
                    "Clearing a tensor of the layer");
}

/// From now on the projections read what the permutation makes.
Status ExpertLayerStep::take_tokens(Operands& operands, cudaStream_t stream) {
  if (!config_.begins_at_tokens()) return {};
  ENGINE_ASSIGN(TokenPermutation tokens,
                TokenPermutation::create(config_.up, *program_, config_.tokens, stream));
  tokens_.emplace(std::move(tokens));
  const auto replace = [](std::vector<OperandInput>& inputs, const void* rows) {
    return inputs.empty() ? nullptr : std::exchange(inputs.front().input, rows);
  };
  x_tokens_ = replace(operands.up.activations, tokens_->x());
  if (config_.backward()) dy_tokens_ = replace(operands.down.gradients, tokens_->dy());
  return {};
}

Result<std::unique_ptr<ExpertLayerStep>> ExpertLayerStep::create(
    std::shared_ptr<const CublasLt> library, ExpertLayerConfig config, Operands operands,
    cudaStream_t stream) {
  auto program = std::make_shared<const StepProgram>(program_of(config.request));
  return create(std::move(library), std::move(config), {.program = std::move(program)},
                std::move(operands), stream);
}

Result<std::unique_ptr<ExpertLayerStep>> ExpertLayerStep::create(
    std::shared_ptr<const CublasLt> library, ExpertLayerConfig config, Part part, Operands operands,
    cudaStream_t stream) {
  if (part.first != nullptr) {
    operands.up.quantized_weights = part.first->up().quantized_weights();
    operands.down.quantized_weights = part.first->down().quantized_weights();
  }
  std::unique_ptr<ExpertLayerStep> made(new ExpertLayerStep(std::move(config)));
  made->program_ = part.program;
  made->micro_batch_ = part.micro_batch;
  ENGINE_TRY(made->take_tokens(operands, stream));
  ENGINE_TRY(made->make(made->h_, StepTensor::H, stream));
  ENGINE_TRY(made->make(made->a_, StepTensor::A, stream));
  ENGINE_TRY(made->make(made->da_, StepTensor::DA, stream));
  ENGINE_TRY(made->make(made->dh_, StepTensor::DH, stream));
  Outputs outputs = made->connect(operands, part.first);

  const StepConfig& up_config = made->config_.up;
  const StepConfig& down_config = made->config_.down;
  std::shared_ptr<const Workspaces> workspaces;
  if (Workspaces::can_share(up_config)) {
    ENGINE_ASSIGN(workspaces, Workspaces::create(up_config, stream));
  }
  const auto part_of = [&](Projection projection) {
    return GroupedStep::Part{
        .program = ProjectionProgram(part.program, projection, part.micro_batch),
        .workspaces = workspaces};
  };
  ENGINE_ASSIGN(GroupedStep up,
                GroupedStep::create(library, up_config, part_of(Projection::Up),
                                    std::move(operands.up), std::move(outputs.up), stream));
  made->up_.emplace(std::move(up));
  ENGINE_ASSIGN(GroupedStep down,
                GroupedStep::create(std::move(library), down_config, part_of(Projection::Down),
                                    std::move(operands.down), std::move(outputs.down), stream));
  made->down_.emplace(std::move(down));
  return made;
}

/// The projections write the layer's own tensors and read what is made of them: A and dH, or H and
/// dA where the quantize kernels compute the activation.
ExpertLayerStep::Outputs ExpertLayerStep::connect(Operands& operands,
                                                  const ExpertLayerStep* first) const {
  const auto layers = static_cast<std::size_t>(config_.request.layers);
  Outputs outputs{.up = std::vector<CallerOutputs>(layers),
                  .down = std::vector<CallerOutputs>(layers)};
  for (int layer = 0; layer < config_.request.layers; ++layer) {
    CallerOutputs& up = outputs.up[static_cast<std::size_t>(layer)];
    CallerOutputs& down = outputs.down[static_cast<std::size_t>(layer)];
    up.y = tensor(h_.of(layer), config_.up, config_.up.n());
    operands.down.activations.push_back(
        a_.memory ? OperandInput{.input = a_.of(layer)}
                  : OperandInput{.input = h_.of(layer), .activation = config_.activation()});
    if (!config_.backward()) continue;
    down.dx = tensor(da_.of(layer), config_.down, config_.down.k());
    operands.up.gradients.push_back(dh_.memory ? OperandInput{.input = dh_.of(layer)}
                                               : OperandInput{.input = h_.of(layer),
                                                              .activation = config_.activation(),
                                                              .output_gradient = da_.of(layer)});
    if (first == nullptr || !config_.request.products.accumulate_wgrad) continue;
    up.dw = weight_gradient(first->up(), layer);
    down.dw = weight_gradient(first->down(), layer);
  }
  return outputs;
}

std::int64_t ExpertLayerStep::bytes(const ExpertLayerConfig& config) {
  return bytes(config,
               {.program = std::make_shared<const StepProgram>(program_of(config.request))});
}

std::int64_t ExpertLayerStep::bytes(const ExpertLayerConfig& config, const Part& part) {
  const StepProgram& program = *part.program;
  // The projections count H and dA as their outputs ...
  std::int64_t own =
      own_bytes(config, program, StepTensor::A) + own_bytes(config, program, StepTensor::DH);
  // ... dA for every layer, though all may use one.
  if (config.backward()) {
    own -= (config.request.layers - places_of(program, StepTensor::DA)) *
           elements_of(config, StepTensor::DA) * config.up.operand_bytes();
  }
  for (const Projection which : {Projection::Up, Projection::Down}) {
    own += GroupedStep::bytes(which == Projection::Up ? config.up : config.down,
                              ProjectionProgram(part.program, which, part.micro_batch));
  }
  if (Workspaces::can_share(config.up)) own -= Workspaces::bytes(config.down);
  if (config.begins_at_tokens()) own += TokenPermutation::bytes(config.up, program);
  return own;
}

Status ExpertLayerStep::write_step(std::span<const std::int64_t> splits, std::size_t step,
                                   cudaStream_t stream) {
  if (tokens_) ENGINE_TRY(tokens_->write_splits(splits, step, stream));
  ENGINE_TRY(up_->write_step(splits, step, stream));
  return down_->write_step(splits, step, stream);
}

Status ExpertLayerStep::enqueue_splits(const void* splits, cudaStream_t stream) {
  if (tokens_) {
    const std::size_t offset = experts_offset(static_cast<std::size_t>(config_.up.num_groups()),
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
          .num_groups = config_.up.num_groups(),
          .capacity_rows = config_.up.capacity_rows(),
          .columns = config_.down.k(),
          .activation = config_.activation()};
}

kernels::GroupedInput ExpertLayerStep::gradient_input(int layer) const {
  kernels::GroupedInput input = activation_input(layer);
  input.columns = config_.up.n();
  input.output_gradient = da_.of(layer);
  return input;
}

std::byte* ExpertLayerStep::rows_of(StepTensor tensor, int layer) const {
  switch (tensor) {
    case StepTensor::H:
      return h_.of(layer);
    case StepTensor::A:
      return a_.of(layer);
    case StepTensor::DA:
      return da_.of(layer);
    case StepTensor::DH:
      return dh_.of(layer);
    default:
      return nullptr;
  }
}

/// A from H, or dH from H and dA.
Status ExpertLayerStep::activate(const Operation& operation, const RowsAt& at,
                                 kernels::LaunchStream stream) const {
  const bool gradient = operation.kind == OperationKind::ActivateGradient;
  kernels::GroupedInput input =
      gradient ? gradient_input(operation.layer) : activation_input(operation.layer);
  input.input = at(operation.reads.front().tensor);
  if (gradient) input.output_gradient = at(operation.reads.back().tensor);
  return check_cuda(
      kernels::activate({.input = input, .output = at(operation.writes.front().tensor)}, stream),
      "Launching the activation kernel");
}

Status ExpertLayerStep::compute_rows(const Operation& operation, const RowsAt& at,
                                     kernels::LaunchStream stream) const {
  switch (operation.kind) {
    case OperationKind::Activate:
    case OperationKind::ActivateGradient:
      return activate(operation, at, stream);
    default:
      return Error{ErrorCode::Internal,
                   fmt::format("The layer cannot {}", operation.traits().name)};
  }
}

Status ExpertLayerStep::compute_rows(const Operation& operation, cudaStream_t stream,
                                     StepObserver& observer) const {
  const StepConfig& projection = operation.projection == Projection::Up ? config_.up : config_.down;
  const WorkScope scope(observer, {.stage = operation.traits().stage,
                                   .layer = projection.tag(operation.layer),
                                   .writes = written_by(operation)});
  return compute_rows(operation,
                      [&](StepTensor tensor) { return rows_of(tensor, operation.layer); },
                      {stream, config_.up.programmatic_launch});
}

Status ExpertLayerStep::run(const Operation& operation, cudaStream_t stream,
                            StepObserver& observer) const {
  if (operation.traits().by_row) return compute_rows(operation, stream, observer);
  const int layer = operation.layer;
  switch (operation.kind) {
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

std::vector<const ProgramPart*> ExpertLayerStep::parts() const {
  std::vector<const ProgramPart*> own;
  for (const ProgramPart& part : program_->parts) {
    if (part.micro_batch == micro_batch_) own.push_back(&part);
  }
  return own;
}

Status ExpertLayerStep::launch_part(const ProgramPart& part, cudaStream_t stream,
                                    StepObserver& observer) const {
  for (const Operation& operation : part.operations) ENGINE_TRY(run(operation, stream, observer));
  return {};
}

Status ExpertLayerStep::launch_pass(ProgramPass pass, cudaStream_t stream,
                                    StepObserver& observer) const {
  for (const ProgramPart* part : parts()) {
    if (part->pass == pass) ENGINE_TRY(launch_part(*part, stream, observer));
  }
  return {};
}

Status ExpertLayerStep::launch(cudaStream_t stream, StepObserver& observer) const {
  for (const ProgramPart* part : parts()) ENGINE_TRY(launch_part(*part, stream, observer));
  return {};
}

Status ExpertLayerStep::prepare(cudaStream_t stream, StepObserver& observer) const {
  return program_->run_prepare(
      [&](const Operation& operation) { return run(operation, stream, observer); });
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
  const std::vector<const ProgramPart*> own = parts();
  for (std::size_t last = 0; last < own.size(); ++last) {
    for (std::size_t i = 0; i <= last; ++i) ENGINE_TRY(launch_part(*own[i], stream, unobserved));
    const bool fprop = own[last]->pass == ProgramPass::Forward;
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
      // In a backward step, prepare() has made these.
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

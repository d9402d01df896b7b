#include "engine/backend/cpu/cpu_expert_layer.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "engine/backend/cpu/cpu_linear_step.h"
#include "kernels/activation/activate.h"

namespace engine {
namespace {

std::optional<TokenRows> make_tokens(const CpuExpertLayer::Setup& setup,
                                     const LayerTensors& tensors) {
  if (setup.token_routing == nullptr) return std::nullopt;
  const std::optional<OperandStore>& gradients = setup.down.gradients;
  std::optional<TokenRows> made(
      std::in_place, TokenRows::Setup{.request = setup.request,
                                      .routing = setup.token_routing,
                                      .x = setup.up.activations->source(),
                                      .gradient = gradients ? &gradients->source() : nullptr,
                                      .buffers = setup.buffers.tokens,
                                      .tensors = tensors,
                                      .context = setup.context});
  made->set_splits(setup.shape.splits, 0);
  return made;
}

GroupedShape shape_of(const RunRequest& projection, const GroupedShape& shape) {
  return {.splits = shape.splits, .n = projection.shape.n, .k = projection.shape.k};
}

}  // namespace

CpuExpertLayer::CpuExpertLayer(const Setup& setup)
    : ProgramStep(program_of(setup.request), setup.progress),
      setup_(setup),
      up_request_(projection_of(setup.request, Projection::Up)),
      down_request_(projection_of(setup.request, Projection::Down)),
      shape_(setup.shape),
      down_shape_(shape_of(down_request_, setup.shape)),
      tensors_(program(), setup.buffers.tensors),
      tokens_(make_tokens(setup, tensors_)),
      up_({.request = up_request_,
           .shape = shape_,
           .operands = setup.up,
           .buffers = setup.buffers.up,
           .context = setup.context,
           .outputs = outputs(Projection::Up),
           .activations = token_activations(),
           .gradients = inner_gradient_inputs(),
           .step = StepKind::ExpertLayer,
           .projection = Projection::Up}),
      down_({.request = down_request_,
             .shape = down_shape_,
             .operands = setup.down,
             .buffers = setup.buffers.down,
             .context = setup.context,
             .outputs = outputs(Projection::Down),
             .activations = activated_inputs(),
             .gradients = token_gradients(),
             .step = StepKind::ExpertLayer,
             .projection = Projection::Down}) {}

const void* CpuExpertLayer::values_of(StepTensor tensor, int expert) {
  if (tensors_.has(tensor)) {
    const bool routed = traits_of(tensor).rows == TensorSide::Routed;
    return tensors_.row(tensor, 0, routed ? up_.first_row(expert) : 0);
  }
  for (const Projection which : {Projection::Up, Projection::Down}) {
    const ProjectionTensors tensors = tensors_of(StepKind::ExpertLayer, which);
    CpuProjection& projection = which == Projection::Up ? up_ : down_;
    if (tensor == tensors.y && runs_forward()) return projection.output_of(0, expert);
    if (tensor == tensors.dx && runs_backward()) return projection.input_gradient_of(0, expert);
    if (tensor == tensors.dw && runs_backward()) return projection.weight_gradient_of(0, expert);
  }
  return nullptr;
}

std::vector<OperandInput> CpuExpertLayer::token_activations() const {
  if (!tokens_) return {};
  return std::vector<OperandInput>(static_cast<std::size_t>(setup_.request.layers),
                                   {.input = tensors_.at(StepTensor::X, 0)});
}

std::vector<OperandInput> CpuExpertLayer::token_gradients() const {
  if (!tokens_ || !runs_backward()) return {};
  return std::vector<OperandInput>(static_cast<std::size_t>(setup_.request.layers),
                                   {.input = tensors_.at(StepTensor::DY, 0)});
}

std::vector<OperandInput> CpuExpertLayer::activated_inputs() const {
  std::vector<OperandInput> inputs;
  for (int layer = 0; layer < setup_.request.layers; ++layer) {
    inputs.push_back(
        tensors_.has(StepTensor::A)
            ? OperandInput{.input = tensors_.at(StepTensor::A, layer)}
            : OperandInput{.input = tensors_.at(StepTensor::H, layer), .activation = activation()});
  }
  return inputs;
}

std::vector<OperandInput> CpuExpertLayer::inner_gradient_inputs() const {
  std::vector<OperandInput> inputs;
  for (int layer = 0; runs_backward() && layer < setup_.request.layers; ++layer) {
    inputs.push_back(tensors_.has(StepTensor::DH)
                         ? OperandInput{.input = tensors_.at(StepTensor::DH, layer)}
                         : OperandInput{.input = tensors_.at(StepTensor::H, layer),
                                        .activation = activation(),
                                        .output_gradient = tensors_.at(StepTensor::DA, layer)});
  }
  return inputs;
}

/// What a projection writes into the layer's tensors; null where its own memory is enough.
std::vector<LayerOutputs> CpuExpertLayer::outputs(Projection which) const {
  const ProjectionTensors tensors = tensors_of(StepKind::ExpertLayer, which);
  std::vector<LayerOutputs> outputs;
  for (int layer = 0; layer < setup_.request.layers; ++layer) {
    outputs.push_back({.y = tensors_.at(tensors.y, layer), .dx = tensors_.at(tensors.dx, layer)});
  }
  return outputs;
}

/// A from H, or dH from H and dA.
void CpuExpertLayer::activate(const Operation& operation, int expert,
                              const ExpertRows& rows) const {
  const std::int64_t offsets[2] = {0, up_.rows(expert)};
  const StepTensor made = operation.writes.front().tensor;
  kernels::GroupedInput input{.input = rows.at(operation.reads.front().tensor),
                              .type = rows.type,
                              .row_offsets = offsets,
                              .num_groups = 1,
                              .capacity_rows = offsets[1],
                              .columns = extent_of(setup_.request, made).columns,
                              .activation = activation()};
  if (operation.reads.size() > 1) input.output_gradient = rows.at(operation.reads.back().tensor);
  kernels::activate_cpu({.input = input, .output = rows.at(made)});
}

static_assert(std::ranges::count(kOperations, true, &OperationTraits::by_row) == 2,
              "compute_rows() implements every operation that is by row");

void CpuExpertLayer::compute_rows(const Operation& operation, int expert,
                                  const ExpertRows& rows) const {
  switch (operation.kind) {
    case OperationKind::Activate:
    case OperationKind::ActivateGradient:
      return activate(operation, expert, rows);
    default:
      std::abort();  // see the assertion above
  }
}

void CpuExpertLayer::run_operation(const Operation& operation, int expert) {
  if (!operation.traits().by_row) {
    return (operation.projection == Projection::Up ? up_ : down_).run_operation(operation, expert);
  }
  if (up_.rows(expert) == 0) return;
  const WorkTag tag{.stage = operation.traits().stage,
                    .layer = 2 * operation.layer + static_cast<int>(operation.projection),
                    .expert = expert,
                    .writes = written_by(operation)};
  const HostSpan span(setup_.context, tag, names_.of(tag.stage, tag.writes).c_str());
  const auto own = [&](StepTensor tensor) {
    return tensors_.row(tensor, operation.layer, up_.first_row(expert));
  };
  compute_rows(operation, expert, {.type = setup_.request.recipe.high_precision, .at = own});
}

void CpuExpertLayer::run_for_all_experts(const Operation& operation) {
  if (!permutes_) return;
  switch (operation.kind) {
    case OperationKind::Permute:
      return tokens_->permute();
    case OperationKind::Unpermute:
      return tokens_->unpermute(operation.layer);
    case OperationKind::PermuteGradient:
      return tokens_->permute_gradient(operation.layer);
    case OperationKind::UnpermuteGradient:
      return tokens_->unpermute_gradient(operation.layer);
    default:  // of a device
      return;
  }
}

void CpuExpertLayer::run_expert(int expert) {
  if (runs_backward()) {
    up_.clear_weight_gradient(0, expert);
    down_.clear_weight_gradient(0, expert);
  }
  run_first_layer(expert);
}

void CpuExpertLayer::begin_experts() {
  if (!tokens_) return;
  tokens_->permute();
  if (runs_backward()) tokens_->permute_gradient();
}

void CpuExpertLayer::end_experts() {
  if (tokens_) run_first_layer_together();
}

void CpuExpertLayer::set_splits(const std::vector<std::int64_t>& splits, std::size_t step) {
  shape_.splits = splits;
  down_shape_.splits = splits;
  if (tokens_) tokens_->set_splits(splits, step);
  up_.set_splits(splits);
  down_.set_splits(splits);
}

std::unique_ptr<HostStep> make_host_step(const HostStepSetup& setup) {
  if (is_expert_layer(setup.request)) {
    return std::make_unique<CpuExpertLayer>(
        CpuExpertLayer::Setup{.request = setup.request,
                              .shape = setup.shape,
                              .up = setup.operands.front(),
                              .down = setup.operands.back(),
                              .buffers = setup.buffers,
                              .context = setup.context,
                              .progress = setup.progress,
                              .token_routing = setup.token_routing});
  }
  return std::make_unique<CpuLinearStep>(CpuProjection::Setup{.request = setup.request,
                                                              .shape = setup.shape,
                                                              .operands = setup.operands.front(),
                                                              .buffers = setup.buffers.up,
                                                              .context = setup.context},
                                         setup.progress);
}

}  // namespace engine

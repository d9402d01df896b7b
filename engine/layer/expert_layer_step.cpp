#include "engine/layer/expert_layer_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/observe/scopes.h"
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

ExpertLayerStep::Extents ExpertLayerStep::extents(const ExpertLayerConfig& config) {
  // Codes are kept by the projection; without them its weight gradients read these.
  const bool keeps_a = !config.down.quantized() && !config.recompute && config.backward();
  const bool keeps_dh = !config.up.quantized() && config.up.linear.delayed_wgrad;
  return {.h = config.up.capacity_rows * config.up.n,
          .a = config.down.capacity_rows * config.down.k,
          .a_layers = keeps_a ? config.up.layers : 1,
          .dh_layers = keeps_dh ? config.up.layers : 1};
}

std::byte* ExpertLayerStep::h(int layer) const {
  return h_.data() + layer * extents(config_).h * config_.up.operand_bytes();
}

std::byte* ExpertLayerStep::a(int layer) const {
  const Extents sizes = extents(config_);
  return a_.data() + (sizes.a_layers > 1 ? layer : 0) * sizes.a * config_.up.operand_bytes();
}

std::byte* ExpertLayerStep::dh(int layer) const {
  const Extents sizes = extents(config_);
  return dh_.data() + (sizes.dh_layers > 1 ? layer : 0) * sizes.h * config_.up.operand_bytes();
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
  const Extents sizes = extents(config);
  const std::int64_t width = config.up.operand_bytes();
  const int layers = config.up.layers;
  const auto take = [&](DeviceBuffer& buffer, std::int64_t elements, const char* name,
                        BufferLife life) -> Status {
    ENGINE_ASSIGN(buffer,
                  DeviceBuffer::allocate(elements * width, {AllocationRole::Output, name, life}));
    // Rows behind the last expert's are never written.
    return check_cuda(cudaMemsetAsync(buffer.data(), 0, buffer.bytes(), stream),
                      "Clearing a tensor of the layer");
  };
  ENGINE_TRY(take(made->h_, layers * sizes.h, "H", BufferLife::Saved));
  if (!config.fuses(Projection::Down)) {
    // Once it is quantized, backward has no use for it, unless it computes it again in its place.
    const bool needed = !config.down.quantized() || config.recompute;
    ENGINE_TRY(take(made->a_, sizes.a_layers * sizes.a, "A",
                    needed ? BufferLife::Saved : BufferLife::Forward));
  }
  if (config.backward()) {
    ENGINE_TRY(take(made->da_, sizes.a, "dA", BufferLife::Backward));
    if (!config.fuses(Projection::Up)) {
      ENGINE_TRY(take(made->dh_, sizes.dh_layers * sizes.h, "dH", BufferLife::Backward));
    }
  }

  std::vector<CallerOutputs> up_outputs(static_cast<std::size_t>(layers));
  std::vector<CallerOutputs> down_outputs(static_cast<std::size_t>(layers));
  for (int layer = 0; layer < layers; ++layer) {
    const auto index = static_cast<std::size_t>(layer);
    up_outputs[index].y = tensor(made->h(layer), config.up, config.up.n);
    operands.down.fed_activations.push_back(
        config.fuses(Projection::Down)
            ? FedOperand{.input = made->h(layer), .activation = config.activation}
            : FedOperand{.input = made->a(layer)});
    if (!config.backward()) continue;
    if (first != nullptr && config.up.linear.accumulate_wgrad) {
      up_outputs[index].dw = weight_gradient(first->up(), layer);
      down_outputs[index].dw = weight_gradient(first->down(), layer);
    }
    down_outputs[index].dx = tensor(made->da_.data(), config.down, config.down.k);
    operands.up.fed_gradients.push_back(config.fuses(Projection::Up)
                                            ? FedOperand{.input = made->h(layer),
                                                         .activation = config.activation,
                                                         .output_gradient = made->da_.data()}
                                            : FedOperand{.input = made->dh(layer)});
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
  const Extents sizes = extents(config);
  // The projections count H and dA as their outputs.
  std::int64_t own = config.fuses(Projection::Down) ? 0 : sizes.a_layers * sizes.a;
  if (config.backward() && !config.fuses(Projection::Up)) own += sizes.dh_layers * sizes.h;
  // ... dA for every layer, though all use one.
  if (config.backward()) own -= (config.up.layers - 1) * sizes.a;
  const std::int64_t shared =
      Workspaces::can_share(config.up) ? Workspaces::bytes(config.down) : std::int64_t{0};
  const std::int64_t tokens =
      config.top_k == 0 ? 0
                        : TokenPermutation::bytes(connected.up, config.top_k, config.backward());
  return own * config.up.operand_bytes() + GroupedStep::bytes(connected.up) +
         GroupedStep::bytes(connected.down) - shared + tokens;
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
  return {.input = h(layer),
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
  input.output_gradient = da_.data();
  return input;
}

Status ExpertLayerStep::activate(int layer, cudaStream_t stream, StepObserver& observer) const {
  if (config_.fuses(Projection::Down)) return {};
  const WorkScope scope(observer, {.stage = Stage::Activation, .layer = config_.down.tag(layer)});
  return check_cuda(kernels::activate({.input = activation_input(layer), .output = a(layer)},
                                      {stream, config_.up.programmatic}),
                    "Launching the activation kernel");
}

Status ExpertLayerStep::activate_gradient(int layer, cudaStream_t stream,
                                          StepObserver& observer) const {
  if (config_.fuses(Projection::Up)) return {};
  const WorkScope scope(observer, {.stage = Stage::Activation, .layer = config_.up.tag(layer)});
  return check_cuda(kernels::activate({.input = gradient_input(layer), .output = dh(layer)},
                                      {stream, config_.up.programmatic}),
                    "Launching the activation kernel");
}

/// Without the offsets.
Status ExpertLayerStep::forward(cudaStream_t stream, StepObserver& observer) const {
  if (permutes()) ENGINE_TRY(tokens_->permute(x_tokens_, stream, observer));
  ENGINE_TRY(up_->quantize_activations(0, stream, observer));
  for (int layer = 0; layer < config_.up.layers; ++layer) {
    ENGINE_TRY(up_->quantize_weights(layer, stream, observer));
    ENGINE_TRY(up_->launch_product(layer, Product::Fprop, stream, observer));
    ENGINE_TRY(activate(layer, stream, observer));
    ENGINE_TRY(down_->quantize_activations(layer, stream, observer));
    ENGINE_TRY(down_->quantize_weights(layer, stream, observer));
    ENGINE_TRY(down_->launch_product(layer, Product::Fprop, stream, observer));
    if (permutes()) {
      ENGINE_TRY(tokens_->unpermute(layer, down_->outputs(layer).y, stream, observer));
    }
  }
  return {};
}

Status ExpertLayerStep::launch_forward(cudaStream_t stream, StepObserver& observer) const {
  if (!config_.forward()) return {};
  ENGINE_TRY(up_->launch_head(stream, observer));
  ENGINE_TRY(down_->launch_head(stream, observer));
  return forward(stream, observer);
}

Status ExpertLayerStep::weight_gradients(int layer, cudaStream_t stream,
                                         StepObserver& observer) const {
  if (config_.recompute) {
    ENGINE_TRY(activate(layer, stream, observer));
    ENGINE_TRY(down_->quantize_late(layer, stream, observer));
  }
  ENGINE_TRY(down_->launch_product(layer, Product::Wgrad, stream, observer));
  return up_->launch_product(layer, Product::Wgrad, stream, observer);
}

Status ExpertLayerStep::launch_backward(cudaStream_t stream, StepObserver& observer) const {
  if (!config_.backward()) return {};
  if (!config_.forward()) {
    ENGINE_TRY(up_->launch_head(stream, observer));
    ENGINE_TRY(down_->launch_head(stream, observer));
  }
  ENGINE_TRY(up_->launch_backward_head(stream, observer));
  ENGINE_TRY(down_->launch_backward_head(stream, observer));
  const bool later = config_.up.linear.delayed_wgrad;
  // dY is that of every layer, dp the layer's own.
  for (int layer = 0; permutes() && layer < config_.up.layers; ++layer) {
    ENGINE_TRY(
        tokens_->permute_gradient(layer, dy_tokens_, down_->outputs(layer).y, stream, observer));
  }
  ENGINE_TRY(down_->quantize_gradients(0, stream, observer));
  for (int layer = config_.up.layers - 1; layer >= 0; --layer) {
    ENGINE_TRY(down_->launch_product(layer, Product::Dgrad, stream, observer));
    ENGINE_TRY(activate_gradient(layer, stream, observer));
    ENGINE_TRY(up_->quantize_gradients(layer, stream, observer));
    ENGINE_TRY(up_->launch_product(layer, Product::Dgrad, stream, observer));
    if (permutes()) {
      ENGINE_TRY(tokens_->unpermute_gradient(layer, up_->outputs(layer).dx, stream, observer));
    }
    if (!later) ENGINE_TRY(weight_gradients(layer, stream, observer));
  }
  for (int layer = config_.up.layers - 1; later && layer >= 0; --layer) {
    ENGINE_TRY(weight_gradients(layer, stream, observer));
  }
  return {};
}

Status ExpertLayerStep::launch(cudaStream_t stream, StepObserver& observer) const {
  ENGINE_TRY(launch_forward(stream, observer));
  return launch_backward(stream, observer);
}

Status ExpertLayerStep::prepare(cudaStream_t stream, StepObserver& observer) const {
  if (config_.forward()) return {};
  ENGINE_TRY(up_->launch_head(stream, observer));
  ENGINE_TRY(down_->launch_head(stream, observer));
  const int casts = std::max(traits_of(config_.up.recipe).steps_to_settle(),
                             traits_of(config_.down.recipe).steps_to_settle());
  for (int cast = 0; cast < casts; ++cast) {
    ENGINE_TRY(forward(stream, observer));
    // The late copies have amax histories of their own.
    for (int layer = 0; config_.recompute && layer < config_.up.layers; ++layer) {
      ENGINE_TRY(activate(layer, stream, observer));
      ENGINE_TRY(down_->quantize_late(layer, stream, observer));
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

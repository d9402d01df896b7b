#include "engine/backend/cpu/cpu_expert_layer.h"

#include <algorithm>
#include <utility>

#include "kernels/activation/activate.h"

namespace engine {
namespace {

bool quantizes(const RunRequest& projection) { return traits_of(projection.recipe).quantizes(); }

std::optional<TokenRows> make_tokens(const CpuExpertLayer::Setup& setup) {
  if (setup.token_routing == nullptr) return std::nullopt;
  const std::optional<OperandStore>& gradients = setup.down.gradients;
  std::optional<TokenRows> made(
      std::in_place, TokenRows::Setup{.request = setup.request,
                                      .routing = setup.token_routing,
                                      .x = setup.up.activations->source(),
                                      .gradient = gradients ? &gradients->source() : nullptr,
                                      .buffers = setup.buffers.tokens,
                                      .context = setup.context});
  made->set_splits(setup.shape.splits, 0);
  return made;
}

GroupedShape shape_of(const RunRequest& projection, const GroupedShape& shape) {
  return {.splits = shape.splits, .n = projection.shape.n, .k = projection.shape.k};
}

}  // namespace

CpuExpertLayer::CpuExpertLayer(const Setup& setup)
    : setup_(setup),
      up_request_(projection_of(setup.request, Projection::Up)),
      down_request_(projection_of(setup.request, Projection::Down)),
      shape_(setup.shape),
      down_shape_(shape_of(down_request_, setup.shape)),
      tensors_(reserve_intermediates()),
      tokens_(make_tokens(setup)),
      up_({.request = up_request_,
           .shape = shape_,
           .operands = setup.up,
           .buffers = setup.buffers.up,
           .context = setup.context,
           .outputs = outputs(Projection::Up),
           .activations = token_activations(),
           .gradients = fed_gradients(),
           .symbols = symbols_of(StepKind::ExpertLayer, Projection::Up),
           .tag_stride = 2,
           .progress = &setup.progress}),
      down_({.request = down_request_,
             .shape = down_shape_,
             .operands = setup.down,
             .buffers = setup.buffers.down,
             .context = setup.context,
             .outputs = outputs(Projection::Down),
             .activations = fed_activations(),
             .gradients = token_gradients(),
             .late_activations = setup.request.expert_layer.recompute_activation,
             .symbols = symbols_of(StepKind::ExpertLayer, Projection::Down),
             .tag_stride = 2,
             .tag_first = 1,
             .progress = &setup.progress}) {}

bool CpuExpertLayer::fuses(Projection which) const {
  return setup_.request.expert_layer.fused_activation &&
         traits_of(projection(which).recipe).fuses_activation;
}

CpuExpertLayer::Intermediates CpuExpertLayer::reserve_intermediates() const {
  const std::int64_t tokens = setup_.request.shape.tokens;  // of any splits
  const std::int64_t h = tokens * shape_.n;
  const std::int64_t a = tokens * activated_columns();
  const std::int64_t layers = setup_.request.layers;
  // Codes are kept by the projection; without them its weight gradients read these.
  const bool keeps_a = runs_backward() && !quantizes(down_request_) &&
                       !setup_.request.expert_layer.recompute_activation;
  const bool keeps_dh = !quantizes(up_request_) && setup_.request.linear.delayed_wgrad;
  LayerBuffers& buffers = setup_.buffers;
  Intermediates tensors{.h = buffers.h.reserve(layers * h),
                        .a = buffers.a.reserve((keeps_a ? layers : 1) * a),
                        .h_stride = h,
                        .a_stride = keeps_a ? a : 0};
  if (!runs_backward()) return tensors;
  tensors.da = buffers.da.reserve(a);
  tensors.dh = buffers.dh.reserve((keeps_dh ? layers : 1) * h);
  tensors.dh_stride = keeps_dh ? h : 0;
  return tensors;
}

const std::uint16_t* CpuExpertLayer::h_of(int layer, int expert) const {
  return tensors_.h + layer * tensors_.h_stride + up_.first_row(expert) * shape_.n;
}

const std::uint16_t* CpuExpertLayer::da_of(int expert) const {
  return tensors_.da + up_.first_row(expert) * activated_columns();
}

std::vector<FedOperand> CpuExpertLayer::token_activations() const {
  if (!tokens_) return {};
  return std::vector<FedOperand>(static_cast<std::size_t>(setup_.request.layers),
                                 {.input = tokens_->x()});
}

std::vector<FedOperand> CpuExpertLayer::token_gradients() const {
  if (!tokens_ || !runs_backward()) return {};
  return std::vector<FedOperand>(static_cast<std::size_t>(setup_.request.layers),
                                 {.input = tokens_->dy()});
}

std::vector<FedOperand> CpuExpertLayer::fed_activations() const {
  std::vector<FedOperand> fed;
  for (int layer = 0; layer < setup_.request.layers; ++layer) {
    fed.push_back(fuses(Projection::Down)
                      ? FedOperand{.input = tensors_.h + layer * tensors_.h_stride,
                                   .activation = activation()}
                      : FedOperand{.input = tensors_.a + layer * tensors_.a_stride});
  }
  return fed;
}

std::vector<FedOperand> CpuExpertLayer::fed_gradients() const {
  std::vector<FedOperand> fed;
  for (int layer = 0; runs_backward() && layer < setup_.request.layers; ++layer) {
    fed.push_back(fuses(Projection::Up)
                      ? FedOperand{.input = tensors_.h + layer * tensors_.h_stride,
                                   .activation = activation(),
                                   .output_gradient = tensors_.da}
                      : FedOperand{.input = tensors_.dh + layer * tensors_.dh_stride});
  }
  return fed;
}

std::vector<LayerOutputs> CpuExpertLayer::outputs(Projection which) const {
  std::vector<LayerOutputs> outputs;
  for (int layer = 0; layer < setup_.request.layers; ++layer) {
    LayerOutputs& own = outputs.emplace_back();
    if (which == Projection::Down) {
      own.dx = tensors_.da;
      if (tokens_) own.y = tokens_->y(layer);
    } else {
      own.y = tensors_.h + layer * tensors_.h_stride;
      if (tokens_ && runs_backward()) own.dx = tokens_->dx(layer);
    }
  }
  return outputs;
}

kernels::GroupedInput CpuExpertLayer::activation_input(int layer, int expert,
                                                       const std::int64_t (&offsets)[2]) const {
  return {.input = h_of(layer, expert),
          .type = setup_.request.recipe.high_precision,
          .row_offsets = offsets,
          .num_groups = 1,
          .capacity_rows = offsets[1],
          .columns = activated_columns(),
          .activation = activation()};
}

kernels::GroupedInput CpuExpertLayer::gradient_input(int layer, int expert,
                                                     const std::int64_t (&offsets)[2]) const {
  kernels::GroupedInput input = activation_input(layer, expert, offsets);
  input.columns = shape_.n;
  input.output_gradient = da_of(expert);
  return input;
}

void CpuExpertLayer::activate(int layer, int expert) {
  const std::int64_t offsets[2] = {0, up_.rows(expert)};
  if (offsets[1] == 0) return;
  const HostSpan span(setup_.context, {Stage::Activation, 2 * layer + 1, expert}, "A");
  kernels::activate_cpu({.input = activation_input(layer, expert, offsets),
                         .output = tensors_.a + layer * tensors_.a_stride +
                                   up_.first_row(expert) * activated_columns()});
}

void CpuExpertLayer::activate_gradient(int layer, int expert) {
  const std::int64_t offsets[2] = {0, up_.rows(expert)};
  if (offsets[1] == 0) return;
  const HostSpan span(setup_.context, {Stage::Activation, 2 * layer, expert}, "dH");
  kernels::activate_cpu(
      {.input = gradient_input(layer, expert, offsets),
       .output = tensors_.dh + layer * tensors_.dh_stride + up_.first_row(expert) * shape_.n});
}

void CpuExpertLayer::forward(int layer, int expert, bool quantize_weights) {
  up_.forward(layer, expert, quantize_weights);
  if (!fuses(Projection::Down)) activate(layer, expert);
  down_.forward(layer, expert, quantize_weights);
}

void CpuExpertLayer::backward(int layer, int expert) {
  down_.backward(layer, expert);
  if (!fuses(Projection::Up)) activate_gradient(layer, expert);
  up_.backward(layer, expert);
}

void CpuExpertLayer::recompute(int layer, int expert) {
  if (!fuses(Projection::Down)) activate(layer, expert);
  down_.quantize_late(layer, expert);
}

void CpuExpertLayer::weight_gradients(int layer, int expert) {
  if (setup_.request.expert_layer.recompute_activation) recompute(layer, expert);
  down_.weight_gradient(layer, expert);
  up_.weight_gradient(layer, expert);
}

void CpuExpertLayer::run_expert(int expert) {
  forward(0, expert, true);
  if (!runs_backward()) return;
  up_.clear_weight_gradient(0, expert);
  down_.clear_weight_gradient(0, expert);
  backward(0, expert);
  weight_gradients(0, expert);
}

void CpuExpertLayer::begin_experts() {
  if (!tokens_) return;
  tokens_->permute();
  if (runs_backward()) tokens_->permute_gradient();
}

void CpuExpertLayer::end_experts() {
  if (!tokens_) return;
  tokens_->unpermute(0);
  if (!runs_backward()) return;
  tokens_->permute_gradient(0);
  tokens_->unpermute_gradient(0);
}

void CpuExpertLayer::set_splits(const std::vector<std::int64_t>& splits, std::size_t step) {
  shape_.splits = splits;
  down_shape_.splits = splits;
  if (tokens_) tokens_->set_splits(splits, step);
  up_.set_splits(splits, step);
  down_.set_splits(splits, step);
}

double CpuExpertLayer::units() const {
  const double passes = (runs_forward() ? 1.0 : 0.0) + (runs_backward() ? 2.0 : 0.0);
  return passes * setup_.request.layers * shape_.num_experts();
}

Status CpuExpertLayer::prepare() {
  if (runs_forward()) return {};
  const int casts = std::max(traits_of(up_request_.recipe).steps_to_settle(),
                             traits_of(down_request_.recipe).steps_to_settle());
  if (tokens_) tokens_->permute();
  for (int layer = 0; layer < setup_.request.layers; ++layer) {
    for (int expert = 0; expert < shape_.num_experts(); ++expert) {
      if (!setup_.progress.advance(expert, 0.0)) return cancelled();
      for (int cast = 0; cast < casts; ++cast) {
        forward(layer, expert, true);
        // The late copy has an amax history of its own.
        if (setup_.request.expert_layer.recompute_activation) recompute(layer, expert);
      }
    }
  }
  return {};
}

template <class Work>
bool CpuExpertLayer::each_expert(Work&& work) {
  for (int expert = 0; expert < shape_.num_experts(); ++expert) {
    if (!setup_.progress.advance(expert, 1.0)) return false;
    work(expert);
  }
  return true;
}

Status CpuExpertLayer::run_forward(WeightCast weights) {
  const bool quantize_weights = weights == WeightCast::Make;
  if (permutes()) tokens_->permute();
  for (int layer = 0; layer < setup_.request.layers; ++layer) {
    if (!each_expert([&](int expert) { forward(layer, expert, quantize_weights); })) {
      return cancelled();
    }
    if (permutes()) tokens_->unpermute(layer);
  }
  return {};
}

Status CpuExpertLayer::run_backward() {
  const bool delayed = setup_.request.linear.delayed_wgrad;
  // dY is that of every layer, dp the layer's own.
  for (int layer = 0; permutes() && layer < setup_.request.layers; ++layer) {
    tokens_->permute_gradient(layer);
  }
  for (int layer = setup_.request.layers - 1; layer >= 0; --layer) {
    const bool done = each_expert([&](int expert) {
      backward(layer, expert);
      if (!delayed && setup_.progress.advance(expert, 1.0)) weight_gradients(layer, expert);
    });
    if (!done) return cancelled();
    if (permutes()) tokens_->unpermute_gradient(layer);
  }
  for (int layer = setup_.request.layers - 1; delayed && layer >= 0; --layer) {
    if (!each_expert([&](int expert) { weight_gradients(layer, expert); })) return cancelled();
  }
  return {};
}

Status CpuExpertLayer::run(WeightCast weights) {
  if (runs_forward()) ENGINE_TRY(run_forward(weights));
  if (runs_backward()) ENGINE_TRY(run_backward());
  // A cancelled product must not be taken for a result.
  if (setup_.progress.is_cancelled()) return cancelled();
  return {};
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
  return std::make_unique<CpuStep>(CpuStep::Setup{.request = setup.request,
                                                  .shape = setup.shape,
                                                  .operands = setup.operands.front(),
                                                  .buffers = setup.buffers.up,
                                                  .context = setup.context,
                                                  .progress = &setup.progress});
}

}  // namespace engine

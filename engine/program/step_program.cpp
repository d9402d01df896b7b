#include "engine/program/step_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "engine/model/projections.h"
#include "engine/model/recipe_traits.h"

namespace engine {
namespace {

using Operations = std::vector<Operation>;

/// Whether a loaded operand may have wider elements than high precision: the element type of a file
/// is in the file alone.
bool may_be_wider(const RunRequest& projection, OperandRole role) {
  const InputSpec& input = role == OperandRole::Activations ? projection.activations
                           : role == OperandRole::Weights   ? projection.weights
                                                            : projection.products.gradients;
  const auto* synthetic = std::get_if<SyntheticInput>(&input);
  return synthetic == nullptr || synthetic->element != projection.recipe.high_precision;
}

/// One grouped product and its gradients.
struct PlannedProjection {
  Projection which = Projection::Up;
  RunRequest request = {};  // as the linear step that it is
  ProjectionTensors tensors = {};
  bool activates_x = false;   // the quantize kernels of X compute the activation
  bool activates_dy = false;  // those of dY its gradient

  bool quantizes() const { return traits_of(request.recipe).quantizes(); }
  bool forward() const { return request.products.passes != StepPasses::Backward; }
  bool backward() const { return request.products.passes != StepPasses::Forward; }
  bool activates(OperandRole role) const {
    return role == OperandRole::Activations ? activates_x
                                            : role == OperandRole::Gradients && activates_dy;
  }
};

class ProgramBuilder {
 public:
  explicit ProgramBuilder(const RunRequest& request)
      : request_(request),
        layer_step_(is_expert_layer(request)),
        device_(traits_of(request.backend).device),
        forward_(request.products.passes != StepPasses::Backward),
        backward_(request.products.passes != StepPasses::Forward),
        tokens_(tokens_of(request) > 0 && layer_step_),
        apart_(captured_apart(request)) {
    if (!layer_step_) {
      projections_.push_back(
          {.request = request, .tensors = tensors_of(StepKind::Linear, Projection::Up)});
      return;
    }
    const bool fuses = request.expert_layer.fused_activation;
    for (const Projection which : {Projection::Up, Projection::Down}) {
      PlannedProjection& made = projections_.emplace_back();
      made.which = which;
      made.request = projection_of(request, which);
      made.tensors = tensors_of(StepKind::ExpertLayer, which);
      const bool fused = fuses && traits_of(made.request.recipe).fuses_activation;
      (which == Projection::Up ? made.activates_dy : made.activates_x) = fused;
    }
  }

  StepProgram build() {
    StepProgram program{.request = request_};
    if (!forward_) {
      program.prepare = layer_step_ ? layer_prepare() : linear_prepare();
      for (const PlannedProjection& one : projections_) {
        program.prepare_times =
            std::max(program.prepare_times, traits_of(one.request.recipe).warm_up_steps());
      }
    }
    const int micro_batches = layer_step_ ? request_.launch.in_flight : 1;
    for (const ProgramPass pass : {ProgramPass::Forward, ProgramPass::Backward}) {
      if (pass == ProgramPass::Forward ? !forward_ : !backward_) continue;
      for (int number = 0; number < micro_batches; ++number) {
        micro_batch_ = number;
        program.parts.push_back({.pass = pass,
                                 .micro_batch = number,
                                 .graph = graph_name(pass, number, micro_batches),
                                 .operations = operations(pass)});
      }
    }
    return program;
  }

 private:
  std::string graph_name(ProgramPass pass, int number, int micro_batches) const {
    if (!apart_) return "step";
    const std::string name = pass == ProgramPass::Forward ? "forward" : "backward";
    return micro_batches == 1 ? name : fmt::format("{} {}", name, number + 1);
  }

  Operations operations(ProgramPass pass) {
    made_.clear();
    if (pass == ProgramPass::Forward) {
      fill_arrays();
      layer_step_ ? layer_forward() : linear_forward();
    } else {
      if (!forward_) fill_arrays();
      if (apart_) {
        for (const PlannedProjection& one : projections_) {
          add({.kind = OperationKind::FillBackwardArrays, .projection = one.which});
        }
      }
      layer_step_ ? layer_backward() : linear_backward();
    }
    return std::exchange(made_, {});
  }

  void add(Operation operation) { made_.push_back(std::move(operation)); }

  /// The host has no arrays on a device to fill.
  void fill_arrays() {
    if (!device_) return;
    for (const PlannedProjection& one : projections_) {
      add({.kind = OperationKind::FillArrays, .projection = one.which});
    }
  }

  // --- Operands
  // -----------------------------------------------------------------------------------

  static int layer_of(StepTensor tensor, int layer) { return traits_of(tensor).shared ? 0 : layer; }

  /// Every layer's copies of the X and dY that all layers share are equal. A device makes them
  /// once; the host keeps the codes of one expert at a time and makes them in each layer.
  bool makes_copies(StepTensor tensor, int layer) const {
    return !device_ || layer_of(tensor, layer) == layer;
  }
  int copy_layer(StepTensor tensor, int layer) const {
    return device_ ? layer_of(tensor, layer) : layer;
  }

  static Value elements(StepTensor tensor, int layer) {
    return {.tensor = tensor, .layer = layer_of(tensor, layer)};
  }

  /// What a product reads of an operand.
  Value operand(const PlannedProjection& projection, OperandRole role, ValueForm form,
                int layer) const {
    const StepTensor tensor = projection.tensors.operand(role);
    if (!projection.quantizes()) return elements(tensor, layer);
    return {.tensor = tensor, .form = form, .layer = copy_layer(tensor, layer)};
  }

  /// What quantizing or summing an operand reads: H, or H and dA, where the activation is fused.
  std::vector<Value> sources(const PlannedProjection& projection, OperandRole role,
                             int layer) const {
    if (!projection.activates(role)) return {elements(projection.tensors.operand(role), layer)};
    if (role == OperandRole::Activations) return {elements(StepTensor::H, layer)};
    return {elements(StepTensor::H, layer), elements(StepTensor::DA, layer)};
  }

  /// Made by another operation of the step, in high precision.
  bool is_made(StepTensor tensor) const {
    const bool by_tokens = tensor == StepTensor::X || tensor == StepTensor::DY;
    return tensor == StepTensor::A || tensor == StepTensor::DH || (by_tokens && tokens_);
  }

  bool recomputes(const PlannedProjection& projection, OperandRole role) const {
    return request_.expert_layer.recompute_activation && backward_ &&
           role == OperandRole::Activations && projection.which == Projection::Down && layer_step_;
  }

  /// The copies that the products of the projection's passes read; `again`: the one that backward
  /// makes of what it has computed again.
  void quantize(const PlannedProjection& projection, OperandRole role, int layer,
                bool again = false) {
    const StepTensor tensor = projection.tensors.operand(role);
    if (!makes_copies(tensor, layer)) return;
    // Micro-batches share the first one's weights.
    if (role == OperandRole::Weights && micro_batch_ > 0) return;
    if (!projection.quantizes()) {
      // A device's operands were rounded when they were loaded.
      if (device_ || again || is_made(tensor) || !may_be_wider(projection.request, role)) return;
      const Value value = elements(tensor, layer);
      add({.kind = OperationKind::Round,
           .projection = projection.which,
           .layer = layer,
           .role = role,
           .reads = {value},
           .writes = {value}});
      return;
    }
    Operation made{.kind = OperationKind::Quantize,
                   .projection = projection.which,
                   .layer = layer,
                   .role = role,
                   .activates = projection.activates(role),
                   .again = again,
                   .reads = sources(projection, role, layer)};
    const bool gradients = role == OperandRole::Gradients;
    const bool rowwise = !again && (projection.forward() || gradients);
    const bool columnwise = projection.backward() && (again || !recomputes(projection, role));
    if (rowwise) made.writes.push_back(operand(projection, role, ValueForm::Rowwise, layer));
    if (columnwise) made.writes.push_back(operand(projection, role, ValueForm::Columnwise, layer));
    add(std::move(made));
  }

  void quantize_gradients(const PlannedProjection& projection, int layer) {
    quantize(projection, OperandRole::Gradients, layer);
    if (!request_.products.bias || !makes_copies(projection.tensors.dy, layer)) return;
    const bool summed = projection.quantizes() && traits_of(projection.request.recipe).sums_bias;
    add({.kind = OperationKind::SumBias,
         .projection = projection.which,
         .layer = layer,
         .summed_by_quantize = summed,
         .reads =
             summed ? std::vector<Value>{} : sources(projection, OperandRole::Gradients, layer),
         .writes = {{.tensor = projection.tensors.db,
                     .layer = copy_layer(projection.tensors.dy, layer)}}});
  }

  // --- Products
  // -----------------------------------------------------------------------------------

  void product(const PlannedProjection& projection, OperationKind kind, int layer) {
    using enum OperandRole;
    using enum ValueForm;
    Operation made{.kind = kind, .projection = projection.which, .layer = layer};
    switch (kind) {
      case OperationKind::Fprop:
        made.reads = {operand(projection, Activations, Rowwise, layer),
                      operand(projection, Weights, Rowwise, layer)};
        made.writes = {elements(projection.tensors.y, layer)};
        break;
      case OperationKind::Dgrad:
        made.reads = {operand(projection, Gradients, Rowwise, layer),
                      operand(projection, Weights, Columnwise, layer)};
        made.writes = {elements(projection.tensors.dx, layer)};
        break;
      default:
        made.reads = {operand(projection, Gradients, Columnwise, layer),
                      operand(projection, Activations, Columnwise, layer)};
        made.writes = {elements(projection.tensors.dw, layer)};
        if (request_.products.accumulate_wgrad) made.reads.push_back(made.writes.front());
        break;
    }
    add(std::move(made));
  }

  void add_bias(const PlannedProjection& projection, int layer) {
    if (!request_.products.bias) return;
    const Value y = elements(projection.tensors.y, layer);
    add({.kind = OperationKind::AddBias,
         .projection = projection.which,
         .layer = layer,
         .reads = {y, elements(projection.tensors.b, layer)},
         .writes = {y}});
  }

  // --- The linear step
  // ----------------------------------------------------------------------------

  void linear_operands(int layer) {
    quantize(projections_.front(), OperandRole::Activations, layer);
    quantize(projections_.front(), OperandRole::Weights, layer);
  }

  void linear_forward() {
    const PlannedProjection& linear = projections_.front();
    if (!device_) {
      for (int layer = 0; layer < request_.layers; ++layer) {
        linear_operands(layer);
        product(linear, OperationKind::Fprop, layer);
        add_bias(linear, layer);
      }
      return;
    }
    for (int layer = 0; layer < request_.layers; ++layer) linear_operands(layer);
    // Back to back, as in a network's captured step: in this order a shared workspace was measured
    // to give wrong results.
    for (int layer = 0; layer < request_.layers; ++layer) {
      product(linear, OperationKind::Fprop, layer);
    }
    for (int layer = 0; layer < request_.layers; ++layer) add_bias(linear, layer);
  }

  void linear_backward() {
    const PlannedProjection& linear = projections_.front();
    const bool delayed = request_.products.delayed_wgrad;
    // The layers are independent of each other. The host takes the last one first, as a network
    // would; a device's random numbers and workspaces follow from the order it always had.
    const auto nth = [this](int i) { return device_ ? i : request_.layers - 1 - i; };
    for (int i = 0; i < request_.layers; ++i) {
      const int layer = nth(i);
      quantize_gradients(linear, layer);
      product(linear, OperationKind::Dgrad, layer);
      if (!delayed) product(linear, OperationKind::Wgrad, layer);
    }
    for (int i = 0; delayed && i < request_.layers; ++i) {
      product(linear, OperationKind::Wgrad, nth(i));
    }
  }

  Operations linear_prepare() {
    made_.clear();
    fill_arrays();
    for (int layer = 0; layer < request_.layers; ++layer) linear_operands(layer);
    return std::exchange(made_, {});
  }

  // --- The expert layer
  // ---------------------------------------------------------------------------

  const PlannedProjection& up() const { return projections_.front(); }
  const PlannedProjection& down() const { return projections_.back(); }

  void activate(int layer, bool again = false) {
    if (down().activates_x) return;
    add({.kind = OperationKind::Activate,
         .projection = Projection::Down,
         .layer = layer,
         .again = again,
         .reads = {elements(StepTensor::H, layer)},
         .writes = {elements(StepTensor::A, layer)}});
  }

  void activate_gradient(int layer) {
    if (up().activates_dy) return;
    add({.kind = OperationKind::ActivateGradient,
         .projection = Projection::Up,
         .layer = layer,
         .reads = {elements(StepTensor::H, layer), elements(StepTensor::DA, layer)},
         .writes = {elements(StepTensor::DH, layer)}});
  }

  void permute() {
    if (!tokens_) return;
    add({.kind = OperationKind::Permute,
         .reads = {elements(StepTensor::XTokens, 0), elements(StepTensor::Choices, 0)},
         .writes = {elements(StepTensor::X, 0), elements(StepTensor::TokenMap, 0)}});
  }

  void unpermute(int layer) {
    if (!tokens_) return;
    add({.kind = OperationKind::Unpermute,
         .projection = Projection::Down,
         .layer = layer,
         .reads = {elements(StepTensor::Y, layer), elements(StepTensor::TokenMap, 0),
                   elements(StepTensor::Probabilities, 0)},
         .writes = {elements(StepTensor::YTokens, layer)}});
  }

  void permute_gradient(int layer) {
    if (!tokens_) return;
    add({.kind = OperationKind::PermuteGradient,
         .projection = Projection::Down,
         .layer = layer,
         .reads = {elements(StepTensor::DYTokens, 0), elements(StepTensor::TokenMap, 0),
                   elements(StepTensor::Probabilities, 0), elements(StepTensor::Y, layer)},
         .writes = {elements(StepTensor::DY, 0), elements(StepTensor::DProbabilities, layer)}});
  }

  void unpermute_gradient(int layer) {
    if (!tokens_) return;
    add({.kind = OperationKind::UnpermuteGradient,
         .projection = Projection::Up,
         .layer = layer,
         .reads = {elements(StepTensor::DX, layer), elements(StepTensor::TokenMap, 0)},
         .writes = {elements(StepTensor::DXTokens, layer)}});
  }

  void layer_forward(bool unpermutes = true) {
    permute();
    for (int layer = 0; layer < request_.layers; ++layer) {
      quantize(up(), OperandRole::Activations, layer);
      quantize(up(), OperandRole::Weights, layer);
      product(up(), OperationKind::Fprop, layer);
      add_bias(up(), layer);
      activate(layer);
      quantize(down(), OperandRole::Activations, layer);
      quantize(down(), OperandRole::Weights, layer);
      product(down(), OperationKind::Fprop, layer);
      add_bias(down(), layer);
      if (unpermutes) unpermute(layer);
    }
  }

  void activate_again(int layer) {
    if (!recomputes(down(), OperandRole::Activations)) return;
    activate(layer, true);
    quantize(down(), OperandRole::Activations, layer, true);
  }

  void weight_gradients(int layer) {
    activate_again(layer);
    product(down(), OperationKind::Wgrad, layer);
    product(up(), OperationKind::Wgrad, layer);
  }

  void layer_backward() {
    const bool delayed = request_.products.delayed_wgrad;
    // dY is that of every layer, dp the layer's own.
    for (int layer = 0; layer < request_.layers; ++layer) permute_gradient(layer);
    // The quantized dY that a device shares is made before the first layer that reads it.
    if (device_) quantize_gradients(down(), 0);
    for (int layer = request_.layers - 1; layer >= 0; --layer) {
      if (!device_) quantize_gradients(down(), layer);
      product(down(), OperationKind::Dgrad, layer);
      activate_gradient(layer);
      quantize_gradients(up(), layer);
      product(up(), OperationKind::Dgrad, layer);
      unpermute_gradient(layer);
      if (!delayed) weight_gradients(layer);
    }
    for (int layer = request_.layers - 1; delayed && layer >= 0; --layer) weight_gradients(layer);
  }

  Operations layer_prepare() {
    made_.clear();
    fill_arrays();
    layer_forward(false);
    // The copies of what is computed again have amax histories of their own.
    for (int layer = 0; layer < request_.layers; ++layer) activate_again(layer);
    return std::exchange(made_, {});
  }

  const RunRequest& request_;
  const bool layer_step_;
  const bool device_;
  const bool forward_;
  const bool backward_;
  const bool tokens_;
  const bool apart_;
  int micro_batch_ = 0;
  std::vector<PlannedProjection> projections_;
  Operations made_;
};

}  // namespace

std::vector<std::string> StepProgram::graph_names() const {
  std::vector<std::string> names;
  for (const ProgramPart& part : parts) {
    if (names.empty() || names.back() != part.graph) names.push_back(part.graph);
  }
  return names;
}

bool captured_apart(const RunRequest& request) {
  return is_expert_layer(request) && traits_of(request.backend).device &&
         request.launch.graphs != StepGraphs::One;
}

StepProgram program_of(const RunRequest& request) { return ProgramBuilder(request).build(); }

}  // namespace engine

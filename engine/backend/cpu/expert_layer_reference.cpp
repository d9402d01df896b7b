#include "engine/backend/cpu/expert_layer_reference.h"

#include <algorithm>

#include "engine/model/projections.h"

namespace engine {
namespace {

/// Operands of the products that no earlier one of these operations writes.
std::vector<StepTensor> loaded_operands(const std::vector<Operation>& operations) {
  std::vector<StepTensor> known;
  std::vector<StepTensor> loaded;
  for (const Operation& operation : operations) {
    for (const Value& value : operation.reads) {
      const bool made = std::ranges::find(known, value.tensor) != known.end();
      if (!operation.traits().product || made) continue;
      known.push_back(value.tensor);
      loaded.push_back(value.tensor);
    }
    for (const Value& value : operation.writes) known.push_back(value.tensor);
  }
  return loaded;
}

}  // namespace

ExpertLayerReference::ExpertLayerReference(CpuExpertLayer& layer)
    : layer_(layer),
      exact_(layer, layer.runs_backward() ? StepPasses::ForwardBackward : StepPasses::Forward,
             ElementType::Fp32),
      loaded_(loaded_operands(exact_.operations())) {}

void ExpertLayerReference::load(StepTensor tensor) {
  const TensorOperand operand = *operand_of(StepKind::ExpertLayer, tensor);
  CpuProjection& projection = operand.projection == Projection::Up ? layer_.up() : layer_.down();
  LoadedOperands& from = projection.operands();
  if (operand.role == OperandRole::Weights) {
    return read(tensor, from.weights.front(), expert_ * rows(tensor));
  }
  const bool gradient = operand.role == OperandRole::Gradients;
  const OperandStore& store = gradient ? *from.gradients : *from.activations;
  if (layer_.tokens() != nullptr) return gather(tensor, store, gradient);
  read(tensor, store, projection.first_row(expert_));
}

void ExpertLayerReference::read(StepTensor tensor, const OperandStore& from,
                                std::int64_t first_row) {
  const std::int64_t values = rows(tensor) * columns(tensor);
  from.source().read_f32(first_row, rows(tensor), {room(tensor), static_cast<std::size_t>(values)});
}

/// Rows of this expert from those of their tokens.
void ExpertLayerReference::gather(StepTensor tensor, const OperandStore& from, bool weighted) {
  const std::int64_t width = columns(tensor);
  const TokenRouting& routing = layer_.tokens()->routing();
  float* const values = room(tensor);
  for (std::int64_t row = 0; row < rows(tensor); ++row) {
    const std::int64_t copy = copies_[static_cast<std::size_t>(row)];
    float* const target = values + row * width;
    from.source().read_f32(copy / routing.top_k(), 1, {target, static_cast<std::size_t>(width)});
    if (!weighted) continue;
    const float p = routing.probabilities()[static_cast<std::size_t>(copy)];
    for (std::int64_t c = 0; c < width; ++c) target[c] *= p;
  }
}

std::vector<double>& ExpertLayerReference::sums(StepTensor tensor) {
  std::vector<double>& of = token_sums_[static_cast<std::size_t>(tensor)];
  const TensorExtent extent = extent_of(layer_.request(), tensor);
  of.resize(static_cast<std::size_t>(extent.rows * extent.columns), 0.0);
  return of;
}

std::vector<float> ExpertLayerReference::of_tokens(StepTensor tensor) const {
  const std::vector<double>& of = token_sums_[static_cast<std::size_t>(tensor)];
  return {of.begin(), of.end()};
}

void ExpertLayerReference::add_to_tokens(bool backward) {
  const TokenRouting& routing = layer_.tokens()->routing();
  const std::int64_t k = layer_.shape().k;
  std::vector<double>& y_tokens = sums(StepTensor::YTokens);
  std::vector<float> dy(static_cast<std::size_t>(backward ? k : 0));
  for (std::size_t row = 0; row < copies_.size(); ++row) {
    const std::int64_t copy = copies_[row];
    const std::int64_t token = copy / routing.top_k();
    const double p = routing.probabilities()[static_cast<std::size_t>(copy)];
    const float* const y = of(StepTensor::Y) + static_cast<std::int64_t>(row) * k;
    for (std::int64_t c = 0; c < k; ++c)
      y_tokens[static_cast<std::size_t>(token * k + c)] += p * y[c];
    if (!backward) continue;
    layer_.down().operands().gradients->source().read_f32(token, 1, dy);
    const float* const dx = of(StepTensor::DX) + static_cast<std::int64_t>(row) * k;
    std::vector<double>& dx_tokens = sums(StepTensor::DXTokens);
    double dot = 0.0;
    for (std::int64_t c = 0; c < k; ++c) {
      dx_tokens[static_cast<std::size_t>(token * k + c)] += dx[c];
      dot += static_cast<double>(dy[static_cast<std::size_t>(c)]) * y[c];
    }
    sums(StepTensor::DProbabilities)[static_cast<std::size_t>(copy)] = dot;
  }
  if (!backward) return;
  // Also where no expert has a row.
  sums(StepTensor::DXTokens);
  sums(StepTensor::DProbabilities);
}

void ExpertLayerReference::find_copies() {
  const TokenRows& tokens = *layer_.tokens();
  copies_.assign(static_cast<std::size_t>(layer_.up().rows(expert_)), 0);
  for (std::size_t copy = 0; copy < tokens.copy_rows().size(); ++copy) {
    const std::int64_t row = tokens.copy_rows()[copy] - layer_.up().first_row(expert_);
    if (row >= 0 && row < std::ssize(copies_)) {
      copies_[static_cast<std::size_t>(row)] = static_cast<std::int64_t>(copy);
    }
  }
}

void ExpertLayerReference::compute(int expert) {
  expert_ = expert;
  exact_.begin(expert);
  if (layer_.tokens() != nullptr) find_copies();
  for (const StepTensor tensor : loaded_) load(tensor);
  exact_.run(exact_.operations(), [this](StepTensor tensor) { return of(tensor); });
  if (layer_.tokens() != nullptr) add_to_tokens(layer_.runs_backward());
}

}  // namespace engine

#include "engine/backend/cpu/expert_layer_reference.h"

#include "engine/backend/cpu/product.h"
#include "engine/model/projections.h"
#include "kernels/activation/activate.h"

namespace engine {

std::int64_t ExpertLayerReference::rows(StepTensor tensor) const {
  return extent_of(layer_.request(), tensor)
      .rows_of(layer_.shape().splits[static_cast<std::size_t>(expert_)]);
}

std::int64_t ExpertLayerReference::columns(StepTensor tensor) const {
  return extent_of(layer_.request(), tensor).columns;
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

void ExpertLayerReference::compute(int expert) {
  expert_ = expert;
  const TokenRows* const tokens = layer_.tokens();
  copies_.assign(tokens == nullptr ? 0 : static_cast<std::size_t>(layer_.up().rows(expert)), 0);
  for (std::size_t copy = 0; tokens != nullptr && copy < tokens->copy_rows().size(); ++copy) {
    const std::int64_t row = tokens->copy_rows()[copy] - layer_.up().first_row(expert);
    if (row >= 0 && row < std::ssize(copies_)) {
      copies_[static_cast<std::size_t>(row)] = static_cast<std::int64_t>(copy);
    }
  }
  CpuProjection& up = layer_.up();
  CpuProjection& down = layer_.down();
  const std::int64_t n = layer_.shape().n;
  const std::int64_t k = layer_.shape().k;
  const std::int64_t columns = layer_.activated_columns();
  const std::int64_t m = up.rows(expert);
  const std::atomic<bool>* cancel = &layer_.context().progress.cancel;
  const bool bias = layer_.request().linear.bias;

  if (tokens != nullptr) {
    gather(StepTensor::X, *up.operands().activations, false);
  } else {
    read(StepTensor::X, *up.operands().activations, up.first_row(expert));
  }
  read(StepTensor::WUp, up.operands().weights.front(), expert * n);
  read(StepTensor::WDown, down.operands().weights.front(), expert * k);
  float* const h = room(StepTensor::H);
  product({.x = of(StepTensor::X),
           .w = of(StepTensor::WUp),
           .m = m,
           .n = n,
           .k = k,
           .y_type = ElementType::Fp32,
           .y = h,
           .cancel = cancel});
  if (bias) up.add_bias(0, expert, m, ElementType::Fp32, h);
  const std::int64_t offsets[2] = {0, m};
  kernels::GroupedInput input = layer_.activation_input(0, expert, offsets);
  input.type = ElementType::Fp32;
  input.input = h;
  kernels::activate_cpu({.input = input, .output = room(StepTensor::A)});
  float* const y = room(StepTensor::Y);
  product({.x = of(StepTensor::A),
           .w = of(StepTensor::WDown),
           .m = m,
           .n = k,
           .k = columns,
           .y_type = ElementType::Fp32,
           .y = y,
           .cancel = cancel});
  if (bias) down.add_bias(0, expert, m, ElementType::Fp32, y);
  if (!layer_.runs_backward()) {
    if (tokens != nullptr) add_to_tokens(false);
    return;
  }

  if (tokens != nullptr) {
    gather(StepTensor::DY, *down.operands().gradients, true);
  } else {
    read(StepTensor::DY, *down.operands().gradients, up.first_row(expert));
  }
  product({.x = of(StepTensor::DY),
           .w = of(StepTensor::WDown),
           .w_transposed = true,
           .m = m,
           .n = columns,
           .k = k,
           .y_type = ElementType::Fp32,
           .y = room(StepTensor::DA),
           .cancel = cancel});
  input.columns = n;
  input.output_gradient = of(StepTensor::DA);
  kernels::activate_cpu({.input = input, .output = room(StepTensor::DH)});
  product({.x = of(StepTensor::DH),
           .w = of(StepTensor::WUp),
           .w_transposed = true,
           .m = m,
           .n = k,
           .k = n,
           .y_type = ElementType::Fp32,
           .y = room(StepTensor::DX),
           .cancel = cancel});
  const auto weight_gradient = [&](StepTensor dy, StepTensor x, StepTensor dw) {
    product({.x = of(dy),
             .w = of(x),
             .x_transposed = true,
             .w_transposed = true,
             .m = rows(dw),
             .n = this->columns(dw),
             .k = m,
             .y_type = ElementType::Fp32,
             .y = room(dw),
             .cancel = cancel});
  };
  weight_gradient(StepTensor::DY, StepTensor::A, StepTensor::DWDown);
  weight_gradient(StepTensor::DH, StepTensor::X, StepTensor::DWUp);
  if (tokens != nullptr) add_to_tokens(true);
}

}  // namespace engine

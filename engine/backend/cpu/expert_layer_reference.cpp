#include "engine/backend/cpu/expert_layer_reference.h"

#include "engine/backend/cpu/product.h"
#include "engine/model/projections.h"
#include "kernels/activation/activate.h"

namespace engine {

std::int64_t ExpertLayerReference::rows(LayerTensor tensor) const {
  return extent_of(layer_.request(), tensor)
      .rows_of(layer_.shape().splits[static_cast<std::size_t>(expert_)]);
}

std::int64_t ExpertLayerReference::columns(LayerTensor tensor) const {
  return extent_of(layer_.request(), tensor).columns;
}

void ExpertLayerReference::read(LayerTensor tensor, const OperandStore& from,
                                std::int64_t first_row) {
  const std::int64_t values = rows(tensor) * columns(tensor);
  from.source().read_f32(first_row, rows(tensor), {room(tensor), static_cast<std::size_t>(values)});
}

void ExpertLayerReference::compute(int expert) {
  expert_ = expert;
  CpuStep& up = layer_.up();
  CpuStep& down = layer_.down();
  const std::int64_t n = layer_.shape().n;
  const std::int64_t k = layer_.shape().k;
  const std::int64_t columns = layer_.activated_columns();
  const std::int64_t m = up.rows(expert);
  const std::atomic<bool>* cancel = &layer_.context().progress.cancel;
  const bool bias = layer_.request().linear.bias;

  read(LayerTensor::X, *up.operands().activations, up.first_row(expert));
  read(LayerTensor::WUp, up.operands().weights.front(), expert * n);
  read(LayerTensor::WDown, down.operands().weights.front(), expert * k);
  float* const h = room(LayerTensor::H);
  product({.x = of(LayerTensor::X),
           .w = of(LayerTensor::WUp),
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
  kernels::activate_cpu({.input = input, .output = room(LayerTensor::A)});
  float* const y = room(LayerTensor::Y);
  product({.x = of(LayerTensor::A),
           .w = of(LayerTensor::WDown),
           .m = m,
           .n = k,
           .k = columns,
           .y_type = ElementType::Fp32,
           .y = y,
           .cancel = cancel});
  if (bias) down.add_bias(0, expert, m, ElementType::Fp32, y);
  if (!layer_.runs_backward()) return;

  read(LayerTensor::DY, *down.operands().gradients, up.first_row(expert));
  product({.x = of(LayerTensor::DY),
           .w = of(LayerTensor::WDown),
           .w_transposed = true,
           .m = m,
           .n = columns,
           .k = k,
           .y_type = ElementType::Fp32,
           .y = room(LayerTensor::DA),
           .cancel = cancel});
  input.columns = n;
  input.output_gradient = of(LayerTensor::DA);
  kernels::activate_cpu({.input = input, .output = room(LayerTensor::DH)});
  product({.x = of(LayerTensor::DH),
           .w = of(LayerTensor::WUp),
           .w_transposed = true,
           .m = m,
           .n = k,
           .k = n,
           .y_type = ElementType::Fp32,
           .y = room(LayerTensor::DX),
           .cancel = cancel});
  const auto weight_gradient = [&](LayerTensor dy, LayerTensor x, LayerTensor dw) {
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
  weight_gradient(LayerTensor::DY, LayerTensor::A, LayerTensor::DWDown);
  weight_gradient(LayerTensor::DH, LayerTensor::X, LayerTensor::DWUp);
}

}  // namespace engine

// Apart from memory, only kept weights, an accumulating dW and, with delayed scaling, the amax
// history are carried from one iteration to the next.
#include "engine/backend/cpu/cpu_projection.h"

#include <algorithm>

#include "engine/backend/cpu/product.h"
#include "engine/input/element_rounding.h"
#include "engine/input/synthetic.h"
#include "engine/model/recipe_traits.h"
#include "kernels/bias/bias.h"

namespace engine {
namespace {

using kernels::Direction;

CopyForms forms_of(Direction direction) {
  return direction == Direction::Rowwise ? CopyForms::Rowwise : CopyForms::Columnwise;
}

}  // namespace

Result<std::vector<LayerOutputs>> take_cpu_outputs(const RunRequest& request,
                                                   const GroupedShape& shape,
                                                   const std::vector<CallerOutputs>& outputs) {
  const ProductOptions& products = request.products;
  const ElementType type = request.recipe.high_precision;
  return take_outputs({.layers = request.layers,
                       .num_groups = shape.num_experts(),
                       .capacity_rows = request.shape.rows,
                       .n = shape.n,
                       .k = shape.k,
                       .type = type,
                       .wgrad_type = products.wgrad_type,
                       .bias_type = type,
                       .forward = products.passes != StepPasses::Backward,
                       .backward = products.passes != StepPasses::Forward,
                       .bias = products.bias,
                       .device = kHostMemory},
                      outputs);
}

CpuProjection::CpuProjection(const Setup& setup)
    : setup_(setup),
      shape_(setup.shape),
      tensors_(tensors_of(setup.step, setup.projection)),
      names_(setup.step) {
  find_rows();
  const bool quantizes = traits_of(setup_.request.recipe).quantizes();
  for (const OperandRole role :
       {OperandRole::Activations, OperandRole::Weights, OperandRole::Gradients}) {
    if (role == OperandRole::Gradients && !runs_backward()) continue;
    configure(role, Direction::Rowwise);
    if (runs_backward() && quantizes) configure(role, Direction::Columnwise);
  }
  if (setup_.request.products.bias) {
    for (int layer = 0; layer < setup_.request.layers; ++layer) {
      std::vector<std::uint16_t>& bits = biases_.emplace_back();
      for (const float b : bias_values(setup_.request, layer)) {
        bits.push_back(round_to(setup_.request.recipe.high_precision, b));
      }
    }
  }
  if (!runs_backward()) return;
  const bool given = std::all_of(setup_.outputs.begin(), setup_.outputs.end(),
                                 [](const LayerOutputs& layer) { return layer.dw != nullptr; });
  if (!setup_.outputs.empty() && given) return;
  const bool all = setup_.request.products.accumulate_wgrad;
  const std::int64_t slots = all ? std::int64_t{setup_.request.layers} * shape_.num_experts() : 1;
  const std::int64_t bytes = slots * weight_gradient_bytes();
  std::fill_n(setup_.buffers.weight_gradient.reserve(bytes), bytes, std::byte{0});
}

void CpuProjection::find_rows() {
  row_offsets_.assign(1, 0);
  for (const std::int64_t rows : shape_.splits) {
    row_offsets_.push_back(row_offsets_.back() + rows);
  }
}

void CpuProjection::set_splits(const std::vector<std::int64_t>& splits) {
  if (splits == shape_.splits) return;
  shape_.splits = splits;
  find_rows();
  const bool quantizes = traits_of(setup_.request.recipe).quantizes();
  for (const OperandRole role : {OperandRole::Activations, OperandRole::Gradients}) {
    if (role == OperandRole::Gradients && !runs_backward()) continue;
    stage(role, Direction::Rowwise).set_splits(splits);
    if (runs_backward() && quantizes) stage(role, Direction::Columnwise).set_splits(splits);
  }
}

void CpuProjection::configure(OperandRole role, Direction direction) {
  const GroupedShape& shape = shape_;
  const bool weights = role == OperandRole::Weights;
  LoadedOperands& operands = setup_.operands;
  const auto element = [&] {
    if (!inputs(role).empty()) return setup_.request.recipe.high_precision;
    const OperandStore& store = weights                          ? operands.weights.front()
                                : role == OperandRole::Gradients ? *operands.gradients
                                                                 : *operands.activations;
    return store.element();
  };
  const auto experts = static_cast<std::size_t>(shape.num_experts());
  const bool reused = weights && setup_.request.products.weight_reuse > 1;
  stage(role, direction)
      .configure({.role = role,
                  .recipe = setup_.request.recipe,
                  .direction = direction,
                  .element = element(),
                  .splits = weights ? std::vector<std::int64_t>(experts, shape.n) : shape.splits,
                  .columns = role == OperandRole::Gradients ? shape.n : shape.k,
                  .layers = setup_.request.layers,
                  .keep_codes = runs_backward() || reused,
                  .seed = setup_.request.seed});
}

OperandStage& CpuProjection::stage(OperandRole role, Direction direction) {
  const bool columnwise =
      direction == Direction::Columnwise && traits_of(setup_.request.recipe).quantizes();
  auto& stages = columnwise ? setup_.buffers.columnwise : setup_.buffers.rowwise;
  return stages[static_cast<std::size_t>(role)];
}

const std::vector<OperandInput>& CpuProjection::inputs(OperandRole role) const {
  static const std::vector<OperandInput> kLoaded;
  if (role == OperandRole::Activations) return setup_.activations;
  return role == OperandRole::Gradients ? setup_.gradients : kLoaded;
}

ExpertElements CpuProjection::elements(OperandRole role, int layer, int expert) {
  const bool w = role == OperandRole::Weights;
  const std::int64_t count = w ? shape_.n : rows(expert);
  const std::int64_t first = w ? expert * count : first_row(expert);
  if (!inputs(role).empty()) {
    const OperandInput& from = inputs(role)[static_cast<std::size_t>(layer)];
    const kernels::GroupedInput widths{
        .columns = role == OperandRole::Gradients ? shape_.n : shape_.k,
        .activation = from.activation,
        .output_gradient = from.output_gradient};
    const std::int64_t width = element_bytes(setup_.request.recipe.high_precision);
    const auto bytes = [first, width](const void* rows, std::int64_t columns) {
      return rows == nullptr ? nullptr
                             : static_cast<const std::byte*>(rows) + first * columns * width;
    };
    return {.expert = expert,
            .rows = count,
            .elements = bytes(from.input, widths.input_columns()),
            .activation = from.activation,
            .output_gradient = bytes(from.output_gradient, widths.activated_columns())};
  }
  LoadedOperands& operands = setup_.operands;
  OperandStore& store = w ? operands.weights[static_cast<std::size_t>(layer)]
                        : role == OperandRole::Gradients ? *operands.gradients
                                                         : *operands.activations;
  if (store.kept()) return {expert, count, store.rows(first, count)};
  const std::int64_t start = steady_ns();
  const HostSpan read = span(Stage::Memory, written(tensors_.operand(role)), w ? layer : 0, expert);
  const ExpertElements elements{expert, count, store.rows(first, count)};
  reading_ns_ += steady_ns() - start;
  return elements;
}

void CpuProjection::quantize(OperandRole role, Direction direction, const ExpertElements& elements,
                             int layer) {
  OperandStage& of = stage(role, direction);
  if (elements.rows == 0) return;
  const StepTensor tensor = tensors_.operand(role);
  if (of.plan().traits().measures_amax()) {
    const HostSpan amax = span(Stage::Amax, written(tensor), layer, elements.expert);
    of.measure_amax(elements, layer);
  }
  if (!of.plan().quantized() && !of.plan().rounded()) return;
  const CopyForms forms = of.plan().rounded() ? CopyForms::None : forms_of(direction);
  const HostSpan copy = span(Stage::Quantize, written(tensor, forms), layer, elements.expert);
  of.quantize(elements, layer);
}

const float* CpuProjection::widen(OperandRole role, Direction direction, int layer, int expert) {
  OperandStage& of = stage(role, direction);
  // Codes and rounded elements are the stage's own: nothing has to be read.
  const bool own = of.plan().quantized() || of.plan().rounded();
  const std::int64_t count = role == OperandRole::Weights ? shape_.n : rows(expert);
  return of.widen(own ? ExpertElements{expert, count, nullptr} : elements(role, layer, expert),
                  layer);
}

void CpuProjection::quantize(OperandRole role, Direction direction, int layer, int expert) {
  // Every expert's weights are quantized, whether tokens were routed there or not.
  if (role != OperandRole::Weights && rows(expert) == 0) return;
  quantize(role, direction, elements(role, layer, expert), layer);
}

void CpuProjection::quantize(const Operation& operation, int expert) {
  const OperandRole role = operation.role;
  const int layer = operation.layer;
  if (role != OperandRole::Weights && rows(expert) == 0) return;
  if (operation.kind == OperationKind::Round && !stage(role, Direction::Rowwise).plan().rounded()) {
    return;
  }
  // Read once for both copies.
  const ExpertElements all = elements(role, layer, expert);
  for (const Value& copy : operation.writes) {
    const bool columnwise = copy.form == ValueForm::Columnwise;
    quantize(role, columnwise ? Direction::Columnwise : Direction::Rowwise, all, layer);
  }
}

void CpuProjection::run_operation(const Operation& operation, int expert) {
  switch (operation.kind) {
    case OperationKind::Round:
    case OperationKind::Quantize:
      return quantize(operation, expert);
    case OperationKind::Fprop:
      return fprop(operation, expert);
    case OperationKind::Dgrad:
      return dgrad(operation, expert);
    case OperationKind::Wgrad:
      return wgrad(operation, expert);
    case OperationKind::AddBias:
      return add_bias(operation, expert);
    case OperationKind::SumBias:
      return reduce_bias(operation, expert);
    default:  // of the layer, or of a device
      return;
  }
}

HostSpan CpuProjection::product_span(const Operation& product, int expert) {
  const bool quantizes = traits_of(setup_.request.recipe).quantizes();
  return {setup_.context, tag(product.traits().stage, written_by(product), product.layer, expert),
          quantizes ? "dequantize + sgemm" : "widen + sgemm"};
}

void CpuProjection::fprop(const Operation& operation, int expert) {
  const std::int64_t m = rows(expert);
  if (m == 0) return;
  const int layer = operation.layer;
  const HostSpan span = product_span(operation, expert);
  product({.x = widen(OperandRole::Activations, Direction::Rowwise, layer, expert),
           .w = widen(OperandRole::Weights, Direction::Rowwise, layer, expert),
           .m = m,
           .n = shape_.n,
           .k = shape_.k,
           .y_type = setup_.request.recipe.high_precision,
           .y = output_of(layer, expert),
           .cancel = &setup_.context.progress.cancel});
}

void CpuProjection::add_bias(const Operation& operation, int expert) {
  if (rows(expert) == 0 || is_cancelled()) return;
  const HostSpan add = span(operation, expert);
  add_bias(operation.layer, expert, rows(expert), setup_.request.recipe.high_precision,
           output_of(operation.layer, expert));
}

void CpuProjection::add_bias(int layer, int expert, std::int64_t rows, ElementType type,
                             void* values) const {
  const std::int64_t n = shape_.n;
  const std::int64_t offsets[2] = {0, rows};
  kernels::add_bias_cpu({.values = values,
                         .type = type,
                         .bias = biases_[static_cast<std::size_t>(layer)].data() + expert * n,
                         .bias_type = setup_.request.recipe.high_precision,
                         .row_offsets = offsets,
                         .num_groups = 1,
                         .capacity_rows = rows,
                         .columns = n});
}

void CpuProjection::reduce_bias(const Operation& operation, int expert) {
  const int layer = operation.layer;
  const ExpertElements dy = elements(OperandRole::Gradients, layer, expert);
  const HostSpan sum = span(operation, expert);
  const std::int64_t n = shape_.n;
  const OperandStage& of = stage(OperandRole::Gradients, Direction::Rowwise);
  std::int64_t offsets[2] = {0, dy.rows};
  kernels::GroupedInput input = of.input(dy, offsets);
  if (of.plan().rounded()) {
    input.input = of.rounded(layer, expert);
    input.type = setup_.request.recipe.high_precision;
  }
  float* partials =
      setup_.buffers.bias_partials.reserve(kernels::bias_partial_capacity(dy.rows, 1, n));
  kernels::bias_partials_cpu({.input = input, .partials = partials});
  kernels::reduce_bias_gradient_cpu({.partials = partials,
                                     .row_offsets = offsets,
                                     .num_groups = 1,
                                     .columns = n,
                                     .output_type = setup_.request.recipe.high_precision,
                                     .gradient = bias_gradient() + expert * n});
}

void CpuProjection::dgrad(const Operation& operation, int expert) {
  const std::int64_t m = rows(expert);
  if (m == 0) return;
  const int layer = operation.layer;
  const HostSpan span = product_span(operation, expert);
  product({.x = widen(OperandRole::Gradients, Direction::Rowwise, layer, expert),
           .w = widen(OperandRole::Weights, Direction::Columnwise, layer, expert),
           .w_transposed = true,
           .m = m,
           .n = shape_.k,
           .k = shape_.n,
           .y_type = setup_.request.recipe.high_precision,
           .y = input_gradient_of(layer, expert),
           .cancel = &setup_.context.progress.cancel});
}

std::int64_t CpuProjection::weight_gradient_bytes() const {
  return shape_.n * shape_.k * element_bytes(setup_.request.products.wgrad_type);
}

std::uint16_t* CpuProjection::output_of(int layer, int expert) {
  const std::int64_t n = shape_.n;
  void* const given = outputs_of(layer).y;
  if (given != nullptr) return static_cast<std::uint16_t*>(given) + first_row(expert) * n;
  return setup_.buffers.product.reserve(rows(expert) * n);
}

std::uint16_t* CpuProjection::input_gradient_of(int layer, int expert) {
  const std::int64_t k = shape_.k;
  void* const given = outputs_of(layer).dx;
  if (given != nullptr) return static_cast<std::uint16_t*>(given) + first_row(expert) * k;
  return setup_.buffers.input_gradient.reserve(rows(expert) * k);
}

std::uint16_t* CpuProjection::bias_gradient() {
  void* const given = outputs_of(0).bias_gradient;
  if (given != nullptr) return static_cast<std::uint16_t*>(given);
  return setup_.buffers.bias_gradient.reserve(shape_.num_experts() * shape_.n);
}

std::byte* CpuProjection::weight_gradient_of(int layer, int expert) {
  if (void* const given = outputs_of(layer).dw; given != nullptr) {
    return static_cast<std::byte*>(given) + expert * weight_gradient_bytes();
  }
  const std::int64_t slot = std::int64_t{layer} * shape_.num_experts() + expert;
  const bool all = setup_.request.products.accumulate_wgrad;
  return setup_.buffers.weight_gradient.get() + (all ? slot * weight_gradient_bytes() : 0);
}

void CpuProjection::clear_weight_gradient(int layer, int expert) {
  std::fill_n(weight_gradient_of(layer, expert), weight_gradient_bytes(), std::byte{0});
}

void CpuProjection::wgrad(const Operation& operation, int expert) {
  const int layer = operation.layer;
  const HostSpan span = product_span(operation, expert);
  const std::int64_t m = rows(expert);
  const bool empty = m == 0;
  product(
      {.x = empty ? nullptr : widen(OperandRole::Gradients, Direction::Columnwise, layer, expert),
       .w = empty ? nullptr : widen(OperandRole::Activations, Direction::Columnwise, layer, expert),
       .x_transposed = true,
       .w_transposed = true,
       .m = shape_.n,
       .n = shape_.k,
       .k = m,
       .y_type = setup_.request.products.wgrad_type,
       .y = weight_gradient_of(layer, expert),
       .accumulate = setup_.request.products.accumulate_wgrad,
       .cancel = &setup_.context.progress.cancel});
}

}  // namespace engine

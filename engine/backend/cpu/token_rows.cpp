#include "engine/backend/cpu/token_rows.h"

#include <algorithm>

#include "kernels/permute/routing_map.h"

namespace engine {

TokenRows::TokenRows(const Setup& setup) : setup_(setup) {
  const std::int64_t layers = setup_.request.layers;
  TokenBuffers& buffers = setup_.buffers;
  copy_rows_.assign(static_cast<std::size_t>(copies()), -1);
  row_offsets_.assign(static_cast<std::size_t>(setup_.request.shape.num_experts) + 1, 0);
  read(setup_.x, buffers.x_tokens);
  buffers.x.reserve(row_elements());
  buffers.y.reserve(layers * row_elements());
  buffers.y_tokens.reserve(layers * token_elements());
  if (setup_.gradient == nullptr) return;
  read(*setup_.gradient, buffers.dy_tokens);
  buffers.dy.reserve(row_elements());
  buffers.dx.reserve(layers * row_elements());
  buffers.dx_tokens.reserve(layers * token_elements());
  buffers.probability_gradients.reserve(layers * copies());
}

void TokenRows::read(const TensorSource& source, Buffer<std::uint16_t>& to) const {
  const auto count = static_cast<std::size_t>(token_elements());
  const std::span<std::uint16_t> values(to.reserve(token_elements()), count);
  if (type() == ElementType::Fp16) {
    source.read_fp16(0, routing().tokens(), values);
  } else {
    source.read_bf16(0, routing().tokens(), values);
  }
}

void TokenRows::set_splits(const std::vector<std::int64_t>& splits, std::size_t step) {
  experts_ = routing().experts_of(splits, step);
}

kernels::PermutedRows TokenRows::rows() const {
  return {.copy_rows = copy_rows_.data(), .tokens = routing().tokens(), .top_k = routing().top_k()};
}

void TokenRows::permute() {
  const HostSpan permutation = span(Stage::Permute, StepTensor::X, 0);
  kernels::routing_map_cpu({.experts = experts_.data(),
                            .tokens = routing().tokens(),
                            .top_k = routing().top_k(),
                            .num_groups = setup_.request.shape.num_experts,
                            .row_offsets = row_offsets_.data(),
                            .copy_rows = copy_rows_.data()});
  kernels::permute_cpu({.rows = rows(),
                        .type = type(),
                        .columns = columns(),
                        .input = setup_.buffers.x_tokens.get(),
                        .output = x()});
}

HostSpan TokenRows::span(Stage stage, StepTensor writes, int linear_layer) {
  const WorkTag tag{.stage = stage, .layer = linear_layer, .writes = written(writes)};
  return {setup_.context, tag, names_.of(tag.stage, tag.writes).c_str()};
}

void TokenRows::sum(int linear_layer, StepTensor writes, const std::uint16_t* from,
                    const float* probabilities, std::uint16_t* to) {
  const HostSpan sums = span(Stage::Unpermute, writes, linear_layer);
  kernels::unpermute_cpu({.rows = rows(),
                          .type = type(),
                          .columns = columns(),
                          .input = from,
                          .probabilities = probabilities,
                          .output = to});
}

void TokenRows::unpermute(int layer) {
  sum(2 * layer + 1, StepTensor::YTokens, y(layer), routing().probabilities().data(),
      setup_.buffers.y_tokens.get() + layer * token_elements());
}

void TokenRows::unpermute_gradient(int layer) {
  sum(2 * layer, StepTensor::DXTokens, dx(layer), nullptr,
      setup_.buffers.dx_tokens.get() + layer * token_elements());
}

kernels::UnpermuteGradientArgs TokenRows::gradient_args() const {
  return {.rows = rows(),
          .type = type(),
          .columns = columns(),
          .gradient = setup_.buffers.dy_tokens.get(),
          .probabilities = routing().probabilities().data(),
          .permuted_gradient = dy()};
}

void TokenRows::permute_gradient(int layer) {
  const HostSpan permutation = span(Stage::Permute, StepTensor::DY, 2 * layer + 1);
  kernels::UnpermuteGradientArgs args = gradient_args();
  args.permuted = y(layer);
  args.probability_gradient = setup_.buffers.probability_gradients.get() + layer * copies();
  kernels::unpermute_gradient_cpu(args);
}

void TokenRows::permute_gradient() {
  const HostSpan permutation = span(Stage::Permute, StepTensor::DY, 1);
  kernels::unpermute_gradient_cpu(gradient_args());
}

}  // namespace engine

#include "engine/backend/cpu/token_rows.h"

#include <algorithm>

#include "kernels/permute/routing_map.h"

namespace engine {

TokenRows::TokenRows(const Setup& setup) : setup_(setup) {
  row_offsets_.assign(static_cast<std::size_t>(setup_.request.shape.num_experts) + 1, 0);
  read(setup_.x, setup_.buffers.x_tokens);
  if (setup_.gradient != nullptr) read(*setup_.gradient, setup_.buffers.dy_tokens);
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
  return {
      .copy_rows = copy_rows().data(), .tokens = routing().tokens(), .top_k = routing().top_k()};
}

void TokenRows::permute() {
  const HostSpan permutation = span(Stage::Permute, StepTensor::X, 0);
  kernels::routing_map_cpu({.experts = experts_.data(),
                            .tokens = routing().tokens(),
                            .top_k = routing().top_k(),
                            .num_groups = setup_.request.shape.num_experts,
                            .row_offsets = row_offsets_.data(),
                            .copy_rows = setup_.tensors.as<std::int32_t>(StepTensor::TokenMap)});
  kernels::permute_cpu({.rows = rows(),
                        .type = type(),
                        .columns = columns(),
                        .input = setup_.buffers.x_tokens.get(),
                        .output = setup_.tensors.at(StepTensor::X, 0)});
}

HostSpan TokenRows::span(Stage stage, StepTensor writes, int linear_layer) {
  const WorkTag tag{.stage = stage, .layer = linear_layer, .writes = written(writes)};
  return {setup_.context, tag, names_.of(tag.stage, tag.writes).c_str()};
}

void TokenRows::sum(Projection projection, int layer, StepTensor reads, StepTensor writes,
                    const float* probabilities) {
  const HostSpan sums = span(Stage::Unpermute, writes, 2 * layer + static_cast<int>(projection));
  kernels::unpermute_cpu({.rows = rows(),
                          .type = type(),
                          .columns = columns(),
                          .input = setup_.tensors.at(reads, layer),
                          .probabilities = probabilities,
                          .output = setup_.tensors.at(writes, layer)});
}

void TokenRows::unpermute(int layer) {
  sum(Projection::Down, layer, StepTensor::Y, StepTensor::YTokens,
      routing().probabilities().data());
}

void TokenRows::unpermute_gradient(int layer) {
  sum(Projection::Up, layer, StepTensor::DX, StepTensor::DXTokens, nullptr);
}

kernels::UnpermuteGradientArgs TokenRows::gradient_args() const {
  return {.rows = rows(),
          .type = type(),
          .columns = columns(),
          .gradient = setup_.buffers.dy_tokens.get(),
          .probabilities = routing().probabilities().data(),
          .permuted_gradient = setup_.tensors.at(StepTensor::DY, 0)};
}

void TokenRows::permute_gradient(int layer) {
  const HostSpan permutation = span(Stage::Permute, StepTensor::DY, 2 * layer + 1);
  kernels::UnpermuteGradientArgs args = gradient_args();
  args.permuted = setup_.tensors.at(StepTensor::Y, layer);
  args.probability_gradient = setup_.tensors.as<float>(StepTensor::DProbabilities, layer);
  kernels::unpermute_gradient_cpu(args);
}

void TokenRows::permute_gradient() {
  const HostSpan permutation = span(Stage::Permute, StepTensor::DY, 1);
  kernels::unpermute_gradient_cpu(gradient_args());
}

}  // namespace engine

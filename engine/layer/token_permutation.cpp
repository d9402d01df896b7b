#include "engine/layer/token_permutation.h"

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/observe/scopes.h"
#include "engine/program/lives.h"
#include "kernels/permute/routing_map.h"

namespace engine {
namespace {

/// What is allocated, in bytes: one list for create() and bytes().
struct Sizes {
  std::int64_t copies, probabilities, row_offsets, counts, token_offsets, rows, tokens, gradients;
};

Sizes sizes(const StepConfig& up, int top_k) {
  const std::int64_t tokens = up.capacity_rows() / top_k;
  const std::int64_t copies = tokens * top_k;
  return {.copies = copies * std::int64_t{sizeof(std::int32_t)},
          .probabilities = copies * std::int64_t{sizeof(float)},
          .row_offsets = (up.num_groups() + 1) * std::int64_t{sizeof(std::int64_t)},
          .counts = kernels::routing_map_counts(tokens, top_k, up.num_groups()) *
                    std::int64_t{sizeof(std::int32_t)},
          .token_offsets = 2 * std::int64_t{sizeof(std::int64_t)},
          .rows = up.capacity_rows() * up.k() * up.output_bytes(),
          .tokens = up.layers * tokens * up.k() * up.output_bytes(),
          .gradients = up.layers * copies * std::int64_t{sizeof(float)}};
}

}  // namespace

std::int64_t TokenPermutation::bytes(const StepConfig& up, const StepProgram& program) {
  const Sizes of = sizes(up, program.request.expert_layer.top_k);
  const bool gradients = makes(program, StepTensor::DY);
  // Experts and rows of the copies; X, dY, tokens and what belongs to gradients.
  return 2 * of.copies + of.probabilities + of.row_offsets + of.counts + of.token_offsets +
         (gradients ? 2 : 1) * (of.rows + of.tokens) + (gradients ? of.gradients : 0);
}

Result<TokenPermutation> TokenPermutation::create(const StepConfig& up, const StepProgram& program,
                                                  std::shared_ptr<const TokenRouting> routing,
                                                  cudaStream_t stream) {
  TokenPermutation made;
  made.up_ = up;
  made.routing_ = std::move(routing);
  const Sizes of = sizes(up, made.routing_->top_k());
  const auto take = [&](DeviceBuffer& buffer, std::int64_t bytes, AllocationLabel label) -> Status {
    ENGINE_ASSIGN(buffer, DeviceBuffer::allocate(bytes, std::move(label)));
    // Rows of experts that nobody chose are never written.
    return check_cuda(cudaMemsetAsync(buffer.data(), 0, buffer.bytes(), stream),
                      "Clearing a tensor of the permutation");
  };
  /// A tensor that the program writes.
  const auto take_tensor = [&](DeviceBuffer& buffer, std::int64_t bytes, StepTensor tensor) {
    const std::optional<BufferLife> life = life_of(program, tensor);
    if (!life) return Status{};
    return take(buffer, bytes,
                {AllocationRole::Output, std::string(traits_of(tensor).symbol), *life});
  };
  constexpr AllocationRole kIn = AllocationRole::Input;
  constexpr AllocationRole kOut = AllocationRole::Output;
  ENGINE_TRY(take(made.experts_, of.copies, {kIn, "experts of tokens"}));
  ENGINE_TRY(take(made.probabilities_, of.probabilities, {kIn, "probabilities of tokens"}));
  ENGINE_TRY(take(made.row_offsets_, of.row_offsets, {kOut, "row offsets of the map"}));
  ENGINE_TRY(take(made.copy_rows_, of.copies, {kOut, "rows of tokens' copies"}));
  ENGINE_TRY(take(made.counts_, of.counts, {kOut, "counts of the map"}));
  ENGINE_TRY(take(made.token_offsets_, of.token_offsets, {kIn, "tokens as one group"}));
  ENGINE_TRY(take_tensor(made.x_, of.rows, StepTensor::X));
  ENGINE_TRY(take_tensor(made.y_tokens_, of.tokens, StepTensor::YTokens));
  ENGINE_TRY(take_tensor(made.dy_, of.rows, StepTensor::DY));
  ENGINE_TRY(take_tensor(made.dx_tokens_, of.tokens, StepTensor::DXTokens));
  ENGINE_TRY(take_tensor(made.probability_gradients_, of.gradients, StepTensor::DProbabilities));
  const std::array<std::int64_t, 2> offsets = {0, made.routing_->tokens()};
  ENGINE_TRY(copy_to_device<std::int64_t>(made.token_offsets_.data(), offsets, stream));
  ENGINE_TRY(
      copy_to_device<float>(made.probabilities_.data(), made.routing_->probabilities(), stream));
  return made;
}

Status TokenPermutation::write_splits(std::span<const std::int64_t> splits, std::size_t step,
                                      cudaStream_t stream) {
  const std::vector<std::int32_t> experts = routing_->experts_of(splits, step);
  return copy_to_device<std::int32_t>(experts_.data(), experts, stream);
}

Status TokenPermutation::enqueue(const void* experts, cudaStream_t stream) {
  if (copies() == 0) return {};
  return check_cuda(cudaMemcpyAsync(experts_.data(), experts,
                                    static_cast<std::size_t>(copies()) * sizeof(std::int32_t),
                                    cudaMemcpyHostToDevice, stream),
                    "Copying the experts of a recorded step");
}

kernels::PermutedRows TokenPermutation::rows() const {
  return {.copy_rows = copy_rows_.as<std::int32_t>(),
          .tokens = routing_->tokens(),
          .top_k = routing_->top_k()};
}

Status TokenPermutation::permute(const void* tokens, cudaStream_t stream,
                                 StepObserver& observer) const {
  if (copies() == 0) return {};
  const WorkScope scope(
      observer, {.stage = Stage::Permute, .layer = up_.tag(0), .writes = written(StepTensor::X)});
  ENGINE_CUDA_TRY(kernels::routing_map({.experts = experts_.as<std::int32_t>(),
                                        .tokens = routing_->tokens(),
                                        .top_k = routing_->top_k(),
                                        .num_groups = up_.num_groups(),
                                        .row_offsets = row_offsets_.as<std::int64_t>(),
                                        .copy_rows = copy_rows_.as<std::int32_t>(),
                                        .counts = counts_.as<std::int32_t>()},
                                       ours(stream)),
                  "Launching the kernels of the routing map");
  return check_cuda(kernels::permute({.rows = rows(),
                                      .type = up_.output_type(),
                                      .columns = up_.k(),
                                      .input = tokens,
                                      .output = x_.data()},
                                     ours(stream)),
                    "Launching the permute kernel");
}

Status TokenPermutation::unpermute(int layer, const void* rows_of_y, cudaStream_t stream,
                                   StepObserver& observer) const {
  if (copies() == 0) return {};
  const WorkScope scope(observer, {.stage = Stage::Unpermute,
                                   .layer = up_.tag(layer) + 1,
                                   .writes = written(StepTensor::YTokens)});
  return check_cuda(kernels::unpermute({.rows = rows(),
                                        .type = up_.output_type(),
                                        .columns = up_.k(),
                                        .input = rows_of_y,
                                        .probabilities = probabilities_.as<float>(),
                                        .output = y_tokens_.data() + layer * token_bytes()},
                                       ours(stream)),
                    "Launching the unpermute kernel");
}

Status TokenPermutation::permute_gradient(int layer, const void* gradient, const void* rows_of_y,
                                          cudaStream_t stream, StepObserver& observer) const {
  if (copies() == 0) return {};
  const WorkScope scope(
      observer,
      {.stage = Stage::Permute, .layer = up_.tag(layer) + 1, .writes = written(StepTensor::DY)});
  return check_cuda(
      kernels::unpermute_gradient(
          {.rows = rows(),
           .type = up_.output_type(),
           .columns = up_.k(),
           .gradient = gradient,
           .probabilities = probabilities_.as<float>(),
           .permuted_gradient = dy_.data(),
           .permuted = rows_of_y,
           .probability_gradient = probability_gradients_.as<float>() + layer * copies()},
          ours(stream)),
      "Launching the gradient kernel of unpermute");
}

Status TokenPermutation::unpermute_gradient(int layer, const void* rows_of_dx, cudaStream_t stream,
                                            StepObserver& observer) const {
  if (copies() == 0) return {};
  const WorkScope scope(observer, {.stage = Stage::Unpermute,
                                   .layer = up_.tag(layer),
                                   .writes = written(StepTensor::DXTokens)});
  return check_cuda(kernels::unpermute({.rows = rows(),
                                        .type = up_.output_type(),
                                        .columns = up_.k(),
                                        .input = rows_of_dx,
                                        .output = dx_tokens_.data() + layer * token_bytes()},
                                       ours(stream)),
                    "Launching the unpermute kernel");
}

const void* TokenPermutation::y_tokens(int layer) const {
  return y_tokens_.data() + layer * token_bytes();
}

const void* TokenPermutation::dx_tokens(int layer) const {
  return dx_tokens_.data() + layer * token_bytes();
}

const float* TokenPermutation::probability_gradients(int layer) const {
  return probability_gradients_.as<float>() + layer * copies();
}

}  // namespace engine

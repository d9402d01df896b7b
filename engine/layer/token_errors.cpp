#include "engine/layer/token_errors.h"

#include <cstdint>
#include <span>
#include <vector>

#include "engine/quantize/statistics_fold.h"
#include "kernels/diagnostics/statistics.h"

namespace engine {
namespace {

void set_error(RunResult& result, StepTensor tensor, const kernels::GroupProductError& error) {
  tensor_row(result, tensor).error = product_accuracy(error);
}

/// Of tokens [tokens, k].
Status compare_tokens(StepTensor tensor, const ExpertLayerStep& step, const void* values,
                      const void* exact, cudaStream_t stream, RunResult& result) {
  ENGINE_ASSIGN(const DeviceBuffer sum,
                DeviceBuffer::allocate(std::int64_t{sizeof(kernels::GroupProductError)},
                                       {AllocationRole::Check, "errors of tokens"}));
  ENGINE_CUDA_TRY(cudaMemsetAsync(sum.data(), 0, sum.bytes(), stream), "Clearing errors");
  const TokenPermutation& tokens = *step.tokens();
  const StepConfig& up = step.config().up;
  ENGINE_CUDA_TRY(kernels::product_error({.product = values,
                                          .product_type = up.output_type(),
                                          .reference = static_cast<const float*>(exact),
                                          .row_offsets = tokens.token_offsets(),
                                          .num_groups = 1,
                                          .capacity_rows = tokens.routing().tokens(),
                                          .columns = up.k(),
                                          .errors = sum.as<kernels::GroupProductError>()},
                                         stream),
                  "Launching the error kernel");
  kernels::GroupProductError error{};
  ENGINE_TRY(copy_to_host(std::span<kernels::GroupProductError>(&error, 1), sum.data(), stream));
  set_error(result, tensor, error);
  return {};
}

/// On the host: top_k may be any number, while the kernel takes rows of whole vectors.
Status compare_probabilities(const TokenPermutation& made, const TokenPermutation& exact,
                             cudaStream_t stream, RunResult& result) {
  const std::int64_t tokens = made.routing().tokens();
  const std::int64_t columns = made.routing().top_k();
  std::vector<float> values(static_cast<std::size_t>(tokens * columns));
  std::vector<float> reference(values.size());
  ENGINE_TRY(copy_to_host(std::span<float>(values), made.probability_gradients(0), stream));
  ENGINE_TRY(copy_to_host(std::span<float>(reference), exact.probability_gradients(0), stream));
  const std::int64_t offsets[2] = {0, tokens};
  kernels::GroupProductError error{};
  kernels::product_error_cpu({.product = values.data(),
                              .product_type = ElementType::Fp32,
                              .reference = reference.data(),
                              .row_offsets = offsets,
                              .num_groups = 1,
                              .capacity_rows = tokens,
                              .columns = columns,
                              .errors = &error});
  set_error(result, StepTensor::DProbabilities, error);
  return {};
}

}  // namespace

Status measure_token_errors(const ExpertLayerStep& step, const ExpertLayerStep& reference,
                            cudaStream_t stream, RunResult& result) {
  const TokenPermutation* const made = step.tokens();
  if (made == nullptr || made->routing().tokens() == 0) return {};
  const TokenPermutation& exact = *reference.tokens();
  if (step.config().forward()) {
    ENGINE_TRY(compare_tokens(StepTensor::YTokens, step, made->y_tokens(0), exact.y_tokens(0),
                              stream, result));
  }
  if (!step.config().backward()) return {};
  ENGINE_TRY(compare_tokens(StepTensor::DXTokens, step, made->dx_tokens(0), exact.dx_tokens(0),
                            stream, result));
  return compare_probabilities(*made, exact, stream, result);
}

}  // namespace engine

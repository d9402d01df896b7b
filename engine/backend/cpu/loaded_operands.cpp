// Keeps what is small, streams what is large; the bound is the same on every machine so that a
// request behaves alike, and lower only where memory is short.
#include "engine/backend/cpu/loaded_operands.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "kernels/common/types.h"

namespace engine {
namespace {

constexpr std::int64_t kMostKeptBytes = std::int64_t{2} << 30;

std::string file_stamp(const InputSpec& input) {
  const auto* file = std::get_if<FileInput>(&input);
  if (file == nullptr) return {};
  std::error_code failure;
  const auto size = std::filesystem::file_size(file->path, failure);
  const auto time = std::filesystem::last_write_time(file->path, failure);
  if (failure) return "unreadable";
  return fmt::format("{} {}", size, time.time_since_epoch().count());
}

/// Element size to plan with: a file's type is not known before it is opened.
std::int64_t planned_element_bytes(const InputSpec& input) {
  const auto* synthetic = std::get_if<SyntheticInput>(&input);
  return synthetic == nullptr ? 4 : element_bytes(synthetic->element);
}

}  // namespace

OperandKey operand_key(const RunRequest& request) {
  return {.activations = request.activations,
          .weights = request.weights,
          .seed = request.seed,
          .num_experts = request.shape.num_experts,
          .tokens = request.shape.tokens,
          .n = request.shape.n,
          .k = request.shape.k,
          .layers = request.layers,
          .file_stamps = file_stamp(request.activations) + "/" + file_stamp(request.weights)};
}

MemoryPlan plan_memory(const RunRequest& request, const GroupedShape& shape,
                       std::int64_t available) {
  const std::int64_t rows = *std::max_element(shape.splits.begin(), shape.splits.end());
  const std::int64_t x_element = planned_element_bytes(request.activations);
  const std::int64_t w_element = planned_element_bytes(request.weights);
  // Elements, codes (or rounded values) and the FP32 values the product reads; the product in BF16;
  // FP32 weights and a strip of rows for the reference; scales and amax.
  MemoryPlan plan;
  plan.step_bytes = rows * shape.k * (x_element + 2 + 4) + shape.n * shape.k * (w_element + 2 + 4) +
                    rows * shape.n * 2 + shape.n * shape.k * 4 + (std::int64_t{256} << 20) +
                    (request.shape.tokens + request.shape.num_experts * shape.n / 128) *
                        kernels::ceil_div(shape.k, kernels::kBlock) * 8;
  // In floating point: eight layers of the largest shape pass 2^63 bytes.
  const double kept = static_cast<double>(request.shape.tokens) *
                          static_cast<double>(shape.k * x_element + shape.n * 4) +
                      static_cast<double>(request.layers) *
                          static_cast<double>(request.shape.num_experts) *
                          static_cast<double>(shape.n) * static_cast<double>(shape.k * w_element);
  if (kept <= static_cast<double>(std::min(kMostKeptBytes, available / 4))) {
    plan.kept_bytes = static_cast<std::int64_t>(kept);
  }
  return plan;
}

Result<LoadedOperands> load_operands(const RunRequest& request, bool keep) {
  Result<std::unique_ptr<TensorSource>> activations =
      open_source(request, OperandRole::Activations, 0);
  if (!activations.ok()) return activations.error();
  std::vector<OperandStore> weights;
  for (int layer = 0; layer < request.layers; ++layer) {
    Result<std::unique_ptr<TensorSource>> source =
        open_source(request, OperandRole::Weights, layer);
    if (!source.ok()) return source.error();
    weights.emplace_back(std::move(source).value(), keep);
  }
  return LoadedOperands{.key = operand_key(request),
                        .activations = OperandStore(std::move(activations).value(), keep),
                        .weights = std::move(weights),
                        .reference = {},
                        .reference_splits = {}};
}

}  // namespace engine

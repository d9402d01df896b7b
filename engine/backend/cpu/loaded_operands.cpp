// Keeps small operands and streams large ones; the bound is the same on all machines, so that a
// request behaves alike, and lower only if memory is short.
#include "engine/backend/cpu/loaded_operands.h"

#include <algorithm>

#include "engine/model/projections.h"
#include "engine/model/recipe_traits.h"
#include "kernels/bias/bias.h"
#include "kernels/common/types.h"

namespace engine {
namespace {

constexpr std::int64_t kMaxKeptBytes = std::int64_t{2} << 30;

/// Element size to plan with: a file's type is not known before it is opened.
std::int64_t planned_element_bytes(const InputSpec& input) {
  const auto* synthetic = std::get_if<SyntheticInput>(&input);
  return synthetic == nullptr ? 4 : element_bytes(synthetic->element);
}

bool backward(const RunRequest& request) { return request.products.passes != StepPasses::Forward; }

/// What an expert layer has beside its projections, and what its numerics take for the largest
/// expert.
double intermediate_bytes(const RunRequest& request, const GroupedShape& shape, std::int64_t rows) {
  const auto tokens = static_cast<double>(request.shape.rows);
  const auto n = static_cast<double>(shape.n);
  const auto k = static_cast<double>(shape.k);
  const auto columns = static_cast<double>(activated_columns(request));
  const auto m = static_cast<double>(rows);
  const double passes = backward(request) ? 2.0 : 1.0;
  // H and A, dA and dH of all tokens.
  const double tensors = request.layers * tokens * (n + columns) * 2.0 * passes;
  // Memory of the tokens: X and dY, and Y and dX of every layer, as rows and as tokens; the
  // reference's sums in double, and their rounded values.
  const auto own = static_cast<double>(tokens_of(request));
  const double permuted =
      own == 0 ? 0.0
               : (tokens + own) * k * 2.0 * (1.0 + request.layers) * passes +
                     (own * k * 12.0 + tokens * (16.0 + 4.0 * request.layers)) * passes;
  // Every tensor in FP32.
  const double reference = passes * (m * (n + columns + 2.0 * k) + n * k + k * columns) * 4.0;
  // An operand that the activation makes by itself; H, A and Y of another layer, A with its codes
  // and as FP32.
  const double made = m * std::max(n, columns) * 2.0;
  const double trial = m * (n + columns + k) * 2.0 + m * columns * (1.25 + 4.0 + 4.0);
  return tensors + permuted + reference + made +
         (request.products.passes == StepPasses::Backward ? 0.0 : trial);
}

/// Memory of the passes other than one forward product: dY and its codes, codes of every layer and
/// expert in both directions, dX and dW, FP32 operands and reference of wgrad.
double pass_bytes(const RunRequest& request, const GroupedShape& shape, std::int64_t rows) {
  const auto layers = static_cast<double>(request.layers);
  const auto tokens = static_cast<double>(request.shape.rows);
  const auto n = static_cast<double>(shape.n);
  const auto k = static_cast<double>(shape.k);
  const double weights = static_cast<double>(request.shape.num_experts) * n * k;
  const bool kept = backward(request) || request.products.weight_reuse > 1;
  const double code = traits_of(request.recipe).quantizes() ? 1.25 : 2.0;
  double bytes = kept ? layers * weights * code : 0.0;
  if (!backward(request)) return bytes;
  bytes += layers * (weights * code + tokens * (2.0 * k + 2.0 * n) * code);
  bytes += static_cast<double>(rows) * (12.0 * n + 8.0 * k) + 12.0 * n * k;
  if (request.products.accumulate_wgrad) bytes += layers * weights * 4.0;
  if (request.products.bias) {
    // db of every expert, and the partial sums of one.
    bytes += 2.0 * request.shape.num_experts * n;
    bytes += 4.0 * static_cast<double>(kernels::bias_partial_capacity(rows, 1, shape.n));
  }
  return bytes;
}

}  // namespace

OperandKey operand_key(const RunRequest& request, const MadeOperands& made) {
  const bool reads_x = !made.activations;
  const bool reads_dy = backward(request) && !made.gradients;
  return {.activations = reads_x ? std::optional(request.activations) : std::nullopt,
          .weights = request.weights,
          .gradients = reads_dy ? std::optional(request.products.gradients) : std::nullopt,
          .seed = request.seed,
          .num_experts = request.shape.num_experts,
          .tokens = request.shape.rows,
          .n = request.shape.n,
          .k = request.shape.k,
          .layers = request.layers,
          .files = {reads_x ? file_stamp(request.activations) : FileStamp(),
                    file_stamp(request.weights),
                    reads_dy ? file_stamp(request.products.gradients) : FileStamp()}};
}

namespace {

MemoryPlan plan_linear(const RunRequest& request, const MadeOperands& made,
                       const GroupedShape& shape, std::int64_t available) {
  const std::int64_t rows = *std::max_element(shape.splits.begin(), shape.splits.end());
  const std::int64_t x_element = planned_element_bytes(request.activations);
  const std::int64_t w_element = planned_element_bytes(request.weights);
  // Elements, codes (or rounded values) and the FP32 values the product reads; the product in BF16;
  // FP32 weights and a strip of rows for the reference; scales and amax.
  MemoryPlan plan;
  plan.step_bytes = rows * shape.k * (x_element + 2 + 4) + shape.n * shape.k * (w_element + 2 + 4) +
                    rows * shape.n * 2 + shape.n * shape.k * 4 + (std::int64_t{256} << 20) +
                    (request.shape.rows + request.shape.num_experts * shape.n / 128) *
                        kernels::ceil_div(shape.k, kernels::kBlock) * 8;
  plan.step_bytes += static_cast<std::int64_t>(std::min(pass_bytes(request, shape, rows), 0x1p61));
  // In floating point: eight layers of the largest shape pass 2^63 bytes.
  const auto tokens = static_cast<double>(request.shape.rows);
  const auto n = static_cast<double>(shape.n);
  const auto k = static_cast<double>(shape.k);
  double kept = static_cast<double>(request.layers) *
                static_cast<double>(request.shape.num_experts) * n * k *
                static_cast<double>(w_element);
  if (!made.activations) kept += tokens * k * static_cast<double>(x_element);
  if (backward(request) && !made.gradients) kept += tokens * n * 4.0;
  // The reference, which only a linear step keeps.
  if (!made.activations && !made.gradients) kept += tokens * n * 4.0;
  if (kept <= static_cast<double>(std::min(kMaxKeptBytes, available / 4))) {
    plan.kept_bytes = static_cast<std::int64_t>(kept);
  }
  return plan;
}

}  // namespace

MemoryPlan plan_memory(const RunRequest& request, const GroupedShape& shape,
                       std::int64_t available) {
  if (!is_expert_layer(request)) return plan_linear(request, {}, shape, available);
  const std::int64_t rows = *std::max_element(shape.splits.begin(), shape.splits.end());
  MemoryPlan sum;
  bool keeps = true;
  for (const StepPart& part : step_parts(request)) {
    const ShapeSpec& own = part.request.shape;
    const MemoryPlan plan = plan_linear(
        part.request, part.made, {.splits = shape.splits, .n = own.n, .k = own.k}, available);
    keeps = keeps && plan.kept_bytes > 0;
    sum.step_bytes += plan.step_bytes;
    sum.kept_bytes += plan.kept_bytes;
  }
  sum.step_bytes +=
      static_cast<std::int64_t>(std::min(intermediate_bytes(request, shape, rows), 0x1p61));
  if (!keeps || sum.kept_bytes > std::min(kMaxKeptBytes, available / 4)) sum.kept_bytes = 0;
  return sum;
}

Result<LoadedOperands> load_operands(const RunRequest& request, bool keep,
                                     const MadeOperands& made) {
  LoadedOperands operands{.key = operand_key(request, made),
                          .activations = std::nullopt,
                          .weights = {},
                          .gradients = std::nullopt,
                          .reference = {},
                          .reference_splits = {}};
  if (!made.activations) {
    ENGINE_ASSIGN(std::unique_ptr<TensorSource> source,
                  open_source(request, OperandRole::Activations, 0));
    operands.activations.emplace(std::move(source), keep);
  }
  for (int layer = 0; layer < request.layers; ++layer) {
    ENGINE_ASSIGN(std::unique_ptr<TensorSource> source,
                  open_source(request, OperandRole::Weights, layer));
    operands.weights.emplace_back(std::move(source), keep);
  }
  if (backward(request) && !made.gradients) {
    ENGINE_ASSIGN(std::unique_ptr<TensorSource> source,
                  open_source(request, OperandRole::Gradients, 0));
    operands.gradients.emplace(std::move(source), keep);
  }
  return operands;
}

}  // namespace engine

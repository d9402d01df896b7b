// The limits of a RunRequest, in one place, each refusal naming the value, the limit and the way
// out.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/model/amax_history.h"
#include "engine/model/recipe_comparison.h"
#include "engine/model/run_request.h"

namespace engine {
namespace {

Status refuse(std::string message) { return Error{ErrorCode::InvalidArgument, std::move(message)}; }

Status check_range(const char* field, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return {};
  return refuse(fmt::format("{} is {}; it must be between {} and {}", field, value, low, high));
}

Status check_input(const char* field, const InputSpec& input) {
  const auto* file = std::get_if<FileInput>(&input);
  if (file == nullptr || !file->path.empty()) return {};
  return refuse(fmt::format(
      "{} is a file without a path; choose a .npy or .safetensors file or a synthetic distribution",
      field));
}

}  // namespace

Status validate(const Recipe& recipe) {
  if (!std::isfinite(recipe.amax_epsilon) || recipe.amax_epsilon < 0.0F) {
    return refuse(fmt::format("recipe.amax_epsilon is {}; it must be finite and at least 0",
                              recipe.amax_epsilon));
  }
  if (recipe.high_precision == ElementType::Fp32) {
    return refuse(
        "recipe.high_precision is FP32; grouped products give BF16 or FP16: choose one of them");
  }
  const Status history = check_range("recipe.delayed.history_length", recipe.delayed.history_length,
                                     1, kMaxHistoryLength);
  if (!history.ok()) return history;
  return check_range("recipe.delayed.margin", recipe.delayed.margin, -kMaxMargin, kMaxMargin);
}

Status validate(const RunRequest& request) {
  const ShapeSpec& shape = request.shape;
  for (const Status& status :
       {check_range("num_experts", shape.num_experts, 1, kMaxExperts),
        check_range("tokens", shape.tokens, 0, kMaxDimension),
        check_range("n", shape.n, 1, kMaxDimension), check_range("k", shape.k, 1, kMaxDimension),
        check_range("layers", request.layers, 1, kMaxLayers),
        check_range("streams", request.streams, 1, kMaxStreams),
        check_range("linear.micro_batches", request.linear.micro_batches, 1, kMaxMicroBatches),
        check_range("launch.iterations", request.launch.iterations, 1, kMaxIterations),
        check_range("measure.traced_iterations", request.measure.traced_iterations, 1,
                    kMaxIterations),
        check_range("routing.alignment", request.routing.alignment, 1, 4096),
        check_input("activations", request.activations), check_input("weights", request.weights),
        check_input("gradients", request.linear.gradients)}) {
    if (!status.ok()) return status;
  }
  const double factor = request.launch.deadline_factor;
  if (factor != 0.0 && !(factor >= kMinDeadlineFactor && factor <= kMaxDeadlineFactor)) {
    return refuse(fmt::format(
        "launch.deadline_factor is {}; it must be between {:.0f} and {:.0f}, or 0 for none", factor,
        kMinDeadlineFactor, kMaxDeadlineFactor));
  }
  for (const auto& [field, value] : {std::pair{"n", shape.n}, std::pair{"k", shape.k}}) {
    if (value % 16 != 0) {
      return refuse(fmt::format(
          "{} is {}; it must be a multiple of 16 (FP8 rows are read 16 bytes at a time): use {}",
          field, value, (value + 15) / 16 * 16));
    }
  }
  if (Status recipe = validate(request.recipe); !recipe.ok()) return recipe;
  if (request.linear.wgrad_type == ElementType::Fp16) {
    return refuse(
        "linear.wgrad_type is FP16; weight gradients are BF16 or FP32: choose one of them");
  }
  if (request.routing.distribution == RoutingDistribution::File && request.routing.path.empty()) {
    return refuse(
        "routing is read from a file but routing.path is empty; name a .json or .npy file of "
        "splits");
  }
  return {};
}

std::vector<Recipe> default_comparison() {
  return {
      {.scaling = Scaling::PerTensorCurrent, .pow2_scales = false},
      {.scaling = Scaling::PerTensorDelayed, .pow2_scales = false},
      {.scaling = Scaling::Block, .pow2_scales = false},
      {.scaling = Scaling::Block, .pow2_scales = true},
      {.scaling = Scaling::Mxfp8},
      {.scaling = Scaling::Nvfp4},
  };
}

int kept_ring_rows(const AmaxHistoryRequest& request) {
  return std::min(request.request.recipe.delayed.history_length, request.steps);
}

Status validate(const AmaxHistoryRequest& request) {
  if (Status run = validate(request.request); !run.ok()) return run;
  const std::int64_t experts = request.request.shape.num_experts;
  for (const Status& status :
       {check_range("steps", request.steps, 1, kMaxHistorySteps),
        check_range("tokens a step", request.tokens, 0, kMaxDimension),
        check_range("outlier_step", request.outlier_step, -1, request.steps - 1),
        check_range("outlier_expert", request.outlier_expert, 0, experts - 1),
        check_range("the number of idle experts", std::ssize(request.idle), 0,
                    request.steps * experts)}) {
    if (!status.ok()) return status;
  }
  if (!(request.outlier_factor > 0.0) || !std::isfinite(request.outlier_factor)) {
    return refuse(
        fmt::format("outlier_factor is {}; it must be finite and above 0", request.outlier_factor));
  }
  for (const IdleExpert& idle : request.idle) {
    for (const Status& status :
         {check_range("the step of an idle expert", idle.step, 0, request.steps - 1),
          check_range("an idle expert", idle.expert, 0, experts - 1)}) {
      if (!status.ok()) return status;
    }
  }
  const std::int64_t ring = experts * request.steps * kept_ring_rows(request);
  if (ring > kMaxRingFloats) {
    return refuse(
        fmt::format("{} steps of {} experts with {} rows of history make {} numbers; at most {} "
                    "fit: choose fewer steps or a shorter history",
                    request.steps, experts, kept_ring_rows(request), ring, kMaxRingFloats));
  }
  return {};
}

Status validate(const ComparisonRequest& request) {
  if (Status run = validate(request.request); !run.ok()) return run;
  if (request.weights && request.gradients) {
    return refuse("a comparison is of W or of dY, not of both: order two of them");
  }
  const auto recipes = static_cast<std::int64_t>(request.recipes.size());
  for (const Status& status :
       {check_range("sample_row", request.sample_row, 0, kMaxDimension * kMaxExperts),
        check_range("sample_column", request.sample_column, 0, kMaxDimension),
        check_range("timed_launches", request.timed_launches, 0, kMaxTimedLaunches),
        check_range("the number of recipes", recipes, 0, kMaxComparedRecipes)}) {
    if (!status.ok()) return status;
  }
  for (const Recipe& recipe : request.recipes) {
    if (Status limits = validate(recipe); !limits.ok()) return limits;
  }
  return {};
}

}  // namespace engine

#include "engine/backend/cuda/step_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "engine/input/element_rounding.h"
#include "engine/input/synthetic.h"
#include "engine/model/backend_traits.h"
#include "engine/model/caller_tensor.h"
#include "engine/model/recipe_traits.h"
#include "engine/observe/scopes.h"

namespace engine {
namespace {

class Upload {
 public:
  Upload(RunResult& result, const StepConfig& config, DeviceOperands& operands, cudaStream_t stream,
         RunContext context)
      : result_(result),
        request_(result.effective),
        config_(config),
        operands_(operands),
        stream_(stream),
        context_(context) {}

  Result<UploadedStep> upload() {
    StepOperands& operands = uploaded_.operands;
    ENGINE_ASSIGN(operands.activations, operand(OperandRole::Activations, 0));
    if (config_.backward()) {
      ENGINE_ASSIGN(operands.gradients, operand(OperandRole::Gradients, 0));
    }
    for (int layer = 0; layer < request_.layers; ++layer) {
      context_.progress.fraction.store(kUploadShare * layer / request_.layers);
      if (config_.list()) {
        ENGINE_TRY(list(layer));
      } else {
        ENGINE_ASSIGN(const void* weights, operand(OperandRole::Weights, layer));
        operands.weights.push_back(weights);
      }
      if (!config_.linear.bias) continue;
      ENGINE_TRY(bias(layer));
      operands.biases.push_back(uploaded_.biases.back().data());
    }
    return std::move(uploaded_);
  }

 private:
  /// One tensor per expert, each allocated separately.
  Status list(int layer) {
    std::vector<ListedWeight>& weights = uploaded_.operands.weight_lists.emplace_back();
    for (int expert = 0; expert < config_.num_groups; ++expert) {
      ENGINE_ASSIGN(const void* values, operand(OperandRole::Weights, layer, expert));
      weights.push_back(listed_weight(config_, values));
    }
    return {};
  }

  Result<const void*> operand(OperandRole role, int layer, int expert = kAllExperts) {
    const WorkScope scope(context_.observer, {.stage = Stage::Memory, .layer = layer});
    const auto uploaded = operands_.get(request_, device_operand_key(request_, role, layer, expert),
                                        stream_, context_.progress);
    if (!uploaded.ok()) return uploaded.error();
    const ElementType element = uploaded.value()->element;
    const ElementType type = request_.recipe.high_precision;
    if (element != type && layer == 0 && expert <= 0) {
      result_.deviations.push_back(
          {.field = std::string(name_of(role)),
           .requested = element_name(element),
           .effective = element_name(type),
           .reason = fmt::format("The CUDA step takes {0} operands, so {1} values were rounded to "
                                 "nearest even; save the tensor as {0} to avoid this",
                                 element_name(type), element_name(element))});
    }
    return static_cast<const void*>(uploaded.value()->values.data());
  }

  /// Rounded to the step's type.
  Status bias(int layer) {
    const std::vector<float> values = bias_values(request_, layer);
    std::vector<std::uint16_t> bits(values.size());
    std::transform(values.begin(), values.end(), bits.begin(),
                   [&](float value) { return round_to(request_.recipe.high_precision, value); });
    ENGINE_ASSIGN(
        DeviceBuffer buffer,
        DeviceBuffer::allocate(static_cast<std::int64_t>(bits.size() * sizeof(bits[0])),
                               {AllocationRole::Input, fmt::format("b, layer {}", layer)}));
    uploaded_.biases.push_back(std::move(buffer));
    return copy_to_device<std::uint16_t>(uploaded_.biases.back().data(), bits, stream_);
  }

  RunResult& result_;
  const RunRequest& request_;
  const StepConfig& config_;
  DeviceOperands& operands_;
  cudaStream_t stream_;
  RunContext context_;
  UploadedStep uploaded_;
};

}  // namespace

Status apply_gates(const RunRequest& request, const DeviceCapability& capability,
                   const std::string& library_path, RunResult& result) {
  RunRequest asked = request;
  if (!traits_of(asked.backend).device) asked.backend = GemmBackend::CublasLtGrouped;
  ForcedSettings forced = forced_settings(asked);
  result.effective = std::move(forced.effective);
  result.effective.cublaslt_library = library_path;
  result.deviations = std::move(forced.deviations);
  const RunRequest& effective = result.effective;
  const Verdict step = step_support(effective.step, effective.backend);
  const Verdict recipe =
      recipe_support(effective.recipe, effective.backend, capability, effective.linear);
  const Verdict launch = launch_support(effective.launch, effective.backend, capability);
  for (const Verdict& verdict : {step, recipe, launch}) {
    if (verdict.support == Support::Refused) {
      return Error{ErrorCode::Unsupported, verdict.sentence};
    }
  }
  if (recipe.support == Support::Fallback) {
    result.emulated = recipe.sentence;
    result.deviations.push_back({.field = "recipe",
                                 .requested = "products of the recipe's own operands",
                                 .effective = "emulated",
                                 .reason = recipe.sentence});
  }
  if (recipe.support == Support::Hazardous) {
    result.deviations.push_back({.field = "recipe",
                                 .requested = std::string(traits_of(effective.recipe).title),
                                 .effective = "as requested, hazardous",
                                 .reason = recipe.sentence});
  }
  if (launch.support == Support::Hazardous) {
    result.deviations.push_back({.field = "launch",
                                 .requested = "graph replay",
                                 .effective = "graph replay, hazardous",
                                 .reason = launch.sentence});
  }
  const Verdict workspace =
      workspace_support(result.effective.workspace, result.effective, capability);
  // Run as requested: the user may want to see it fail. The replay checks will report it.
  if (workspace.support == Support::Hazardous) {
    result.deviations.push_back({.field = "workspace",
                                 .requested = "several products per workspace",
                                 .effective = "as requested, hazardous",
                                 .reason = workspace.sentence});
  }
  return {};
}

StepConfig step_config(const RunResult& result, const GroupedShape& shape, int compute_major) {
  const RunRequest& request = result.effective;
  StepConfig config = {.num_groups = shape.num_experts(),
                       .capacity_rows = request.shape.tokens,
                       .n = request.shape.n,
                       .k = request.shape.k,
                       .layers = request.layers,
                       .recipe = request.recipe,
                       .linear = request.linear,
                       .backend = request.backend,
                       .streams = request.streams,
                       .workspace = request.workspace,
                       .setup_arrays = request.setup_arrays,
                       .emulated = !result.emulated.empty(),
                       .scalars_per_group = compute_major >= 10,
                       .int32_splits = request.int32_splits,
                       .programmatic = request.programmatic_launch,
                       .seed = request.seed};
  if (!traits_of(request.backend).one_launch) config.host_splits = shape.splits;
  return config;
}

Result<UploadedStep> upload_step(RunResult& result, const StepConfig& config,
                                 DeviceOperands& operands, cudaStream_t stream,
                                 RunContext context) {
  return Upload(result, config, operands, stream, context).upload();
}

}  // namespace engine

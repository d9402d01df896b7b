#include "engine/backend/cuda/step_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include "engine/device/allocation_ledger.h"
#include "engine/input/element_rounding.h"
#include "engine/input/routing.h"
#include "engine/input/synthetic.h"
#include "engine/layer/layer_numerics.h"
#include "engine/linear/step_numerics.h"
#include "engine/model/backend_traits.h"
#include "engine/model/caller_tensor.h"
#include "engine/model/recipe_traits.h"
#include "engine/observe/scopes.h"

namespace engine {
namespace {

/// Operands of a part; the biases are owned here, everything else by the step's DeviceOperands.
struct UploadedPart {
  StepOperands operands;
  std::vector<DeviceBuffer> biases;  // a layer
};

class Upload {
 public:
  /// `done` of the upload's progress is there before, `share` is this part's.
  Upload(RunResult& result, const StepPart& part, const StepConfig& config,
         DeviceOperands& operands, cudaStream_t stream, RunContext context, double done,
         double share)
      : result_(result),
        tokens_(is_expert_layer(result.effective) && result.effective.expert_layer.top_k > 0),
        request_(part.loaded()),
        made_(part.made),
        config_(config),
        operands_(operands),
        stream_(stream),
        context_(context),
        done_(done),
        share_(share) {}

  Result<UploadedPart> upload() {
    StepOperands& operands = uploaded_.operands;
    if (!made_.activations) {
      ENGINE_ASSIGN(const void* x, operand(OperandRole::Activations, 0));
      operands.activations.push_back({.input = x});
    }
    if (config_.backward() && !made_.gradients) {
      ENGINE_ASSIGN(const void* dy, operand(OperandRole::Gradients, 0));
      operands.gradients.push_back({.input = dy});
    }
    for (int layer = 0; layer < request_.layers; ++layer) {
      context_.progress.fraction.store(kUploadShare * (done_ + share_ * layer / request_.layers));
      if (config_.list()) {
        ENGINE_TRY(list(layer));
      } else {
        ENGINE_ASSIGN(const void* weights, operand(OperandRole::Weights, layer));
        operands.weights.push_back(weights);
      }
      if (!config_.products.bias) continue;
      ENGINE_TRY(bias(layer));
      operands.biases.push_back(uploaded_.biases.back().data());
    }
    return std::move(uploaded_);
  }

 private:
  /// One tensor per expert, each allocated separately.
  Status list(int layer) {
    std::vector<ListedWeight>& weights = uploaded_.operands.weight_lists.emplace_back();
    for (int expert = 0; expert < config_.num_groups(); ++expert) {
      ENGINE_ASSIGN(const void* values, operand(OperandRole::Weights, layer, expert));
      weights.push_back(listed_weight(config_, values));
    }
    return {};
  }

  /// In the ledger: "X", or "Xt" of tokens, "Wup, layer 0", "Wdown, layer 0, expert 3".
  std::string symbol(OperandRole role, int layer, int expert) const {
    switch (role) {
      case OperandRole::Activations:
        return tokens_ ? std::string(traits_of(StepTensor::XTokens).symbol) : config_.symbols.x;
      case OperandRole::Gradients:
        return tokens_ ? std::string(traits_of(StepTensor::DYTokens).symbol) : config_.symbols.dy;
      case OperandRole::Weights:
        break;
    }
    const std::string every = fmt::format("{}, layer {}", config_.symbols.w, layer);
    return expert == kAllExperts ? every : fmt::format("{}, expert {}", every, expert);
  }

  Result<const void*> operand(OperandRole role, int layer, int expert = kAllExperts) {
    const WorkScope scope(context_.observer, {.stage = Stage::Memory, .layer = layer});
    const AllocationScope name({AllocationRole::Input, symbol(role, layer, expert)});
    const auto uploaded = operands_.get(request_, device_operand_key(request_, role, layer, expert),
                                        stream_, context_.progress);
    if (!uploaded.ok()) return uploaded.error();
    const ElementType element = uploaded.value()->element;
    const ElementType type = request_.recipe.high_precision;
    if (element != type && layer == 0 && expert <= 0) {
      result_.deviations.push_back(
          {.field = made_.activations && role == OperandRole::Weights ? "expert_layer.down_weights"
                                                                      : std::string(name_of(role)),
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
    ENGINE_ASSIGN(DeviceBuffer buffer,
                  DeviceBuffer::allocate(static_cast<std::int64_t>(bits.size() * sizeof(bits[0])),
                                         {AllocationRole::Input,
                                          fmt::format("{}, layer {}", config_.symbols.b, layer)}));
    uploaded_.biases.push_back(std::move(buffer));
    return copy_to_device<std::uint16_t>(uploaded_.biases.back().data(), bits, stream_);
  }

  RunResult& result_;
  const bool tokens_;  // X and dY are loaded token by token
  const RunRequest request_;
  const MadeOperands& made_;
  const StepConfig& config_;
  DeviceOperands& operands_;
  cudaStream_t stream_;
  RunContext context_;
  double done_;
  double share_;
  UploadedPart uploaded_;
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
  const Verdict launch = launch_support(effective.launch, effective.backend, capability);
  if (launch.support == Support::Refused) return Error{ErrorCode::Unsupported, launch.sentence};
  // Both projections of a layer have a verdict; where it is the same, it is said once.
  const auto deviate = [&](Deviation deviation) {
    const bool said = std::ranges::any_of(result.deviations, [&](const Deviation& other) {
      return other.field == deviation.field && other.requested == deviation.requested &&
             other.reason == deviation.reason;
    });
    if (!said) result.deviations.push_back(std::move(deviation));
  };
  for (const StepPart& part : step_parts(effective)) {
    const RunRequest& linear = part.request;
    const Verdict recipe =
        recipe_support(linear.recipe, linear.backend, capability, linear.products);
    if (recipe.support == Support::Refused) return Error{ErrorCode::Unsupported, recipe.sentence};
    if (recipe.support == Support::Fallback) {
      result.emulated = recipe.sentence;
      deviate({.field = "recipe",
               .requested = "products of the recipe's own operands",
               .effective = "emulated",
               .reason = recipe.sentence});
    }
    if (recipe.support == Support::Hazardous) {
      deviate({.field = "recipe",
               .requested = std::string(traits_of(linear.recipe).title),
               .effective = "as requested, hazardous",
               .reason = recipe.sentence});
    }
  }
  const Verdict workspace = workspace_support(effective.workspace, effective, capability);
  // Run as requested: the user may want to see it fail. The replay checks will report it.
  if (workspace.support == Support::Hazardous) {
    deviate({.field = "workspace",
             .requested = "several products per workspace",
             .effective = "as requested, hazardous",
             .reason = workspace.sentence});
  }
  if (launch.support == Support::Hazardous) {
    deviate({.field = "launch",
             .requested = "graph replay",
             .effective = "graph replay, hazardous",
             .reason = launch.sentence});
  }
  return {};
}

void keep_captured_step(RunResult& result) {
  const bool captured = result.effective.launch.kind == LaunchKind::GraphReplay;
  RecordedRouting& recorded = *result.recorded_routing;
  if (!captured || traits_of(result.effective.backend).follows_splits ||
      recorded.steps.size() < 2) {
    return;
  }
  result.deviations.push_back(
      {.field = "routing.steps",
       .requested = std::to_string(recorded.steps.size()),
       .effective = "1",
       .reason = fmt::format("One matmul per expert takes its splits from the host, so every "
                             "replay has those of the capture, step {}: choose cuBLASLt grouped, "
                             "or eager launches",
                             recorded.steps.front().step)});
  recorded.steps.resize(1);
  result.effective.routing.steps = 1;
}

namespace {

/// Whether graphs may use the same workspace one after another. Some versions of cuBLASLt are wrong
/// then, whichever products share it.
bool workspaces_may_be_shared(const RunRequest& request, const DeviceCapability& capability) {
  return std::ranges::all_of(kType<WorkspaceStrategy>.names, [&](const EnumName& name) {
    return workspace_support(static_cast<WorkspaceStrategy>(name.value), request, capability)
               .support == Support::Supported;
  });
}

StepConfig linear_config(const RunRequest& request, const GroupedShape& shape, bool emulated,
                         int compute_major) {
  StepConfig config(request);
  config.emulated = emulated;
  config.scalars_per_group = compute_major >= 10;
  if (!traits_of(request.backend).one_launch) config.host_splits = shape.splits;
  return config;
}

}  // namespace

StepPlan plan_step(const RunResult& result, const GroupedShape& shape,
                   const DeviceCapability& capability) {
  const RunRequest& request = result.effective;
  StepPlan plan{.parts = step_parts(request), .configs = {}, .launch = request.launch};
  for (const StepPart& part : plan.parts) {
    const RunRequest& linear = part.request;
    const Verdict recipe =
        recipe_support(linear.recipe, linear.backend, capability, linear.products);
    plan.configs.push_back(linear_config(linear, shape, recipe.support == Support::Fallback,
                                         capability.compute_major));
  }
  if (!is_expert_layer(request)) return plan;
  for (StepConfig& config : plan.configs) {
    RunRequest part = request;
    part.recipe = config.recipe;
    part.expert_layer.mixed_recipes = false;  // each projection's own products decide
    config.pooled_workspaces =
        captured_apart(request) && workspaces_may_be_shared(part, capability);
  }
  plan.layer.emplace(request, plan.configs.front(), plan.configs.back());
  plan.configs = {plan.layer->up, plan.layer->down};
  return plan;
}

std::vector<DeviceOperandKey> StepPlan::operand_keys() const {
  std::vector<DeviceOperandKey> keys;
  for (const StepPart& part : parts) {
    const std::vector<DeviceOperandKey> more = device_operand_keys(part.loaded(), part.made);
    keys.insert(keys.end(), more.begin(), more.end());
  }
  return keys;
}

std::int64_t StepPlan::step_bytes() const {
  if (in_parts()) return MicroBatches::bytes(*layer);
  return layer ? ExpertLayerStep::bytes(*layer) : GroupedStep::bytes(configs.front());
}

std::int64_t StepPlan::numerics_bytes() const {
  return layer ? layer_numerics_bytes(*layer) : engine::numerics_bytes(configs.front());
}

Result<BuiltStep> build_step(RunResult& result, const StepPlan& plan,
                             std::shared_ptr<const CublasLt> library, DeviceOperands& operands,
                             cudaStream_t stream, RunContext context) {
  BuiltStep built;
  std::vector<StepOperands> of_parts;
  for (std::size_t i = 0; i < plan.parts.size(); ++i) {
    const double share = 1.0 / static_cast<double>(plan.parts.size());
    Upload upload(result, plan.parts[i], plan.configs[i], operands, stream, context,
                  static_cast<double>(i) * share, share);
    ENGINE_ASSIGN(UploadedPart uploaded, upload.upload());
    std::ranges::move(uploaded.biases, std::back_inserter(built.biases));
    of_parts.push_back(std::move(uploaded.operands));
  }
  const WorkScope scope(context.observer, {.stage = Stage::Memory});
  if (plan.layer) {
    ExpertLayerConfig config = *plan.layer;
    // A routing from a file comes with the splits: read again, it may be another one.
    if (config.tokens == nullptr) {
      ENGINE_ASSIGN(config.tokens, resolve_token_routing(result.effective));
    }
    ExpertLayerStep::Operands layer_operands{.up = std::move(of_parts.front()),
                                             .down = std::move(of_parts.back())};
    if (plan.in_parts()) {
      ENGINE_ASSIGN(std::unique_ptr<MicroBatches> batches,
                    MicroBatches::create(std::move(library), config, layer_operands, stream));
      built.layer = &batches->first();
      built.step = std::move(batches);
      return built;
    }
    ENGINE_ASSIGN(std::unique_ptr<ExpertLayerStep> layer,
                  ExpertLayerStep::create(std::move(library), std::move(config),
                                          std::move(layer_operands), stream));
    built.layer = layer.get();
    built.step = std::move(layer);
    return built;
  }
  ENGINE_ASSIGN(GroupedStep linear, GroupedStep::create(std::move(library), plan.configs.front(),
                                                        std::move(of_parts.front()), {}, stream));
  auto step = std::make_unique<GroupedStep>(std::move(linear));
  built.linear = step.get();
  built.step = std::move(step);
  return built;
}

}  // namespace engine

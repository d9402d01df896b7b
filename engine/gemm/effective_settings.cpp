// Table of settings without effect: which, when and why, and what happens instead.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <variant>

#include "engine/gemm/same_step.h"
#include "engine/gemm/support.h"
#include "engine/model/backend_traits.h"
#include "engine/model/leaves.h"
#include "engine/model/projections.h"
#include "engine/model/recipe_traits.h"
#include "engine/model/values.h"

namespace engine {
namespace {

/// "FP8 block, MXFP8 and NVFP4"
std::string recipes_with(bool (*has)(const RecipeTraits&)) {
  std::vector<std::string_view> titles;
  for (const RecipeTraits& traits : kRecipeTraits) {
    if (has(traits)) titles.push_back(traits.title);
  }
  std::string text;
  for (std::size_t i = 0; i < titles.size(); ++i) {
    if (i > 0) text += i + 1 == titles.size() ? " and " : ", ";
    text += titles[i];
  }
  return text;
}

bool on_device(const RunRequest& request) { return traits_of(request.backend).device; }

std::string no_backward(const RunRequest& request) {
  if (request.products.passes != StepPasses::Forward) return {};
  return "The step has no backward pass: choose Backward or Both";
}

std::string no_layer(const RunRequest& request) {
  if (is_expert_layer(request)) return {};
  return "The step is one linear layer: choose the expert layer";
}

std::string one_recipe(const RunRequest& request) {
  if (request.expert_layer.mixed_recipes) return {};
  return "Both projections use the same recipe: choose mixed recipes";
}

std::string no_fused_kernel(const RunRequest& request) {
  if (!is_expert_layer(request)) return {};
  const bool backward = request.products.passes != StepPasses::Forward;
  const auto fuses = [&](Projection projection) {
    return traits_of(projection_of(request, projection).recipe).fuses_activation;
  };
  // A is the down projection's, dH the up projection's.
  if (fuses(Projection::Down) || (backward && fuses(Projection::Up))) return {};
  return fmt::format("Fused activation exists with {} only: select one",
                     recipes_with([](const RecipeTraits& one) { return one.fuses_activation; }));
}

std::string no_workspace(const RunRequest& request) {
  if (traits_of(request.backend).own_products) {
    return "Expertscope's products need no workspace: choose a cuBLASLt backend";
  }
  if (on_device(request)) return {};
  return workspace_support(request.workspace, request, {}).sentence;
}

std::string one_stream(const RunRequest& request) {
  const BackendTraits& backend = traits_of(request.backend);
  if (backend.device && !backend.one_launch) return {};
  return "Only one matmul per expert can use several streams: choose cuBLASLt per expert";
}

bool cublaslt_grouped(const RunRequest& request) {
  const BackendTraits& backend = traits_of(request.backend);
  return backend.one_launch && !backend.own_products;
}

std::string no_arrays(const RunRequest& request) {
  if (cublaslt_grouped(request)) return {};
  return "Only cuBLASLt's grouped products read pointers and dimensions from arrays: choose "
         "cuBLASLt "
         "grouped";
}

std::string no_algorithms(const RunRequest& request) {
  if (cublaslt_grouped(request)) return {};
  return "Only cuBLASLt's grouped products have a list of algorithms to try: choose cuBLASLt "
         "grouped";
}

std::string no_programmatic(const RunRequest& request) {
  if (traits_of(request.backend).programmatic) return {};
  return on_device(request)
             ? "The per-expert backend joins products from several streams, and a programmatic "
               "launch can overlap only with its predecessor in the same stream: choose cuBLASLt "
               "grouped"
             : "The CPU reference launches no kernels: choose cuBLASLt grouped";
}

std::string host_splits(const RunRequest& request) {
  if (on_device(request)) return {};
  return "The CPU reference reads the splits on the host: choose a cuBLASLt backend";
}

std::string no_replays(const RunRequest& request) {
  if (on_device(request) && request.launch.kind == LaunchKind::GraphReplay) return {};
  return "Only graph replays have a deadline and markers: choose a cuBLASLt backend and graph "
         "replay";
}

std::string no_apart(const RunRequest& request) {
  if (!is_expert_layer(request)) {
    return "Separate graphs need the expert layer: select it";
  }
  if (request.products.passes != StepPasses::ForwardBackward) {
    return "One pass gives one graph: select Both";
  }
  if (on_device(request) && request.launch.kind == LaunchKind::GraphReplay) return {};
  return "No graph is captured: choose a cuBLASLt backend and graph replay";
}

std::string one_graph(const RunRequest& request) {
  if (std::string blocked = no_apart(request); !blocked.empty()) return blocked;
  if (request.launch.graphs != StepGraphs::One) return {};
  return "A single graph has no pool to share: select a graph each for forward and backward";
}

std::string one_in_flight(const RunRequest& request) {
  if (!is_expert_layer(request) || request.products.passes != StepPasses::ForwardBackward) {
    return "Micro-batches in flight need the forward and the backward pass of an expert layer: "
           "select "
           "the expert layer and Both";
  }
  const BackendTraits& backend = traits_of(request.backend);
  if (backend.device && backend.one_launch) return {};
  return backend.device ? "One matmul per expert takes its splits from the host, and each "
                          "micro-batch has its own "
                          "splits: choose cuBLASLt grouped"
                        : "The CPU runs one micro-batch per step: choose cuBLASLt grouped";
}

std::string no_markers(const RunRequest& request) {
  if (std::string blocked = no_replays(request); !blocked.empty()) return blocked;
  const bool apart = no_apart(request).empty() && request.launch.graphs != StepGraphs::One;
  if (!apart) return {};
  return "Markers name the nodes of one graph, and this step has several: choose one graph";
}

std::string host_spans(const RunRequest& request) {
  if (on_device(request)) return {};
  return "The CPU backend runs experts one by one and always records them: choose a cuBLASLt "
         "backend";
}

std::string no_stamps(const RunRequest& request) {
  // Stamps are of X.
  if (!traits_of(request.recipe).quantizes()) {
    return "BF16 quantizes nothing, and only quantize kernels and our own products leave stamps: "
           "choose another recipe";
  }
  if (request.recipe.high_precision == ElementType::Bf16) return {};
  return "Only quantize kernels that read BF16 leave stamps: choose BF16 as high-precision type";
}

std::string no_routing_file(const RunRequest& request) {
  if (request.routing.distribution == RoutingDistribution::File) return {};
  return "The routing is synthetic: choose a routing file";
}

std::string host_weights(const RunRequest& request) {
  if (on_device(request)) return {};
  return "The CPU backend reads weights expert by expert, so their storage makes no difference: "
         "choose a cuBLASLt backend";
}

std::string no_trace(const RunRequest& request) {
  if (std::string blocked = host_spans(request); !blocked.empty()) return blocked;
  if (request.measure.trace != TraceLevel::Off) return {};
  return "Tracing is off: choose a trace of nodes or graphs";
}

std::string fixed_number(const RunRequest& request) {
  if (request.launch.median_within != 0) return {};
  return "The number of iterations is fixed, so there is no time limit: set how precisely the "
         "median "
         "must be known (median_within)";
}

std::string no_library(const RunRequest& request) {
  if (on_device(request)) return {};
  return "The CPU backend multiplies with OpenBLAS and loads no cuBLASLt; choose a cuBLASLt "
         "backend to compare libraries";
}

// Settings of a recipe are checked for every linear step of the request, because the projections of
// an expert layer can have different recipes.

std::string no_quantization(const StepPart& part) {
  if (traits_of(part.request.recipe).quantizes()) return {};
  return "BF16 quantizes nothing: choose another recipe";
}

std::string one_format(const StepPart& part) {
  const RecipeTraits& recipe = traits_of(part.request.recipe);
  if (!recipe.quantizes()) return no_quantization(part);
  if (recipe.chooses_format()) return {};
  return fmt::format("{} has one element format, E2M1", recipe.title);
}

std::string no_pow2(const StepPart& part) {
  const RecipeTraits& recipe = traits_of(part.request.recipe);
  if (!recipe.quantizes()) return no_quantization(part);
  if (recipe.chooses_pow2()) return {};
  if (recipe.pow2_scales(false)) return "The scale is always a power of two";
  return fmt::format("The scale of each block of {} elements is an E4M3 number", recipe.block);
}

std::string no_epsilon(const StepPart& part) {
  const RecipeTraits& recipe = traits_of(part.request.recipe);
  if (!recipe.quantizes()) return no_quantization(part);
  if (recipe.amax_epsilon) return {};
  if (recipe.remembers_amax()) {
    return "Delayed scaling takes its scale from the amax of earlier steps, which has no lower "
           "bound";
  }
  return recipe.scale == ScaleNumber::E8m0
             ? fmt::format("{} takes its scale from the block's exponent alone", recipe.title)
             : fmt::format("{} has no lower bound for amax: a block of zeros stays zero",
                           recipe.title);
}

std::string always_promoted(const StepPart& part) {
  const RecipeTraits& recipe = traits_of(part.request.recipe);
  if (!recipe.quantizes()) return no_quantization(part);
  if (!recipe.split_accumulator) {
    return "Block scales change along the reduction, so partial sums must be promoted to FP32; "
           "cuBLASLt has no block-scaled algorithm with fast accumulation";
  }
  if (on_device(part.request)) return {};
  return "The CPU product sums in FP32 throughout; fast accumulation exists on the cuBLASLt "
         "backends with FP8 per tensor only";
}

std::string no_history(const StepPart& part) {
  if (traits_of(part.request.recipe).remembers_amax()) return {};
  return "Only delayed scaling keeps the amax of earlier steps: choose FP8 delayed";
}

std::string one_weight_block(const StepPart& part) {
  if (traits_of(part.request.recipe).square_weights) return {};
  return fmt::format("Only {} support several block shapes for weights: choose one",
                     recipes_with([](const RecipeTraits& one) { return one.square_weights; }));
}

std::string one_block(const StepPart& part) {
  if (traits_of(part.request.recipe).square_activations) return {};
  return fmt::format("Only {} supports several block shapes for this operand: choose it",
                     recipes_with([](const RecipeTraits& one) { return one.square_activations; }));
}

std::string no_hadamard(const StepPart& part) {
  if (traits_of(part.request.recipe).hadamard) return {};
  return fmt::format("Part of {} only: choose it",
                     recipes_with([](const RecipeTraits& one) { return one.hadamard; }));
}

std::string no_stochastic_rounding(const StepPart& part) {
  if (traits_of(part.request.recipe).stochastic_rounding) return {};
  return fmt::format("Part of {} only: choose it",
                     recipes_with([](const RecipeTraits& one) { return one.stochastic_rounding; }));
}

/// Sets pow2_scales to what the scales are if no recipe of the step lets the user choose.
void describe_scales(RunRequest& request) {
  std::optional<bool> pow2;
  bool alike = true;
  for (const StepPart& part : step_parts(request)) {
    const RecipeTraits& recipe = traits_of(part.request.recipe);
    if (!recipe.quantizes()) continue;
    const bool scales = recipe.pow2_scales(false);
    alike = alike && pow2.value_or(scales) == scales;
    pow2 = scales;
  }
  // No scales, or of both kinds: there is nothing to say about them.
  request.recipe.pow2_scales = pow2 && alike ? *pow2 : Recipe().pow2_scales;
}

using WhyOfStep = std::string (*)(const RunRequest&);
using WhyOfPart = std::string (*)(const StepPart&);

/// "BF16 quantizes nothing: choose another recipe"; if the reasons of two projections differ, both.
std::string without_effect(const std::variant<WhyOfStep, WhyOfPart>& why,
                           const RunRequest& request) {
  if (const auto* of_step = std::get_if<WhyOfStep>(&why)) return (*of_step)(request);
  std::vector<std::string> reasons;
  for (const StepPart& part : step_parts(request)) {
    reasons.push_back(std::get<WhyOfPart>(why)(part));
    if (reasons.back().empty()) return {};
  }
  if (reasons.front() == reasons.back()) return reasons.front();
  return fmt::format("Up projection: {}. Down projection: {}", reasons.front(), reasons.back());
}

struct Setting {
  std::string_view path;  // of a field of RunRequest, with all that is below it
  /// Why the setting has no effect; empty = it has one. A setting has an effect if any part of the
  /// step uses it.
  std::variant<WhyOfStep, WhyOfPart> no_effect;
  /// Gives it the value that is effective instead. Null: turns a switch off, resets any other
  /// setting to its default.
  void (*force)(RunRequest&) = nullptr;
  bool even_by_default = false;  // also forced if it still has its default
};

/// The first row that matches a path gives the sentence.
constexpr Setting kSettings[] = {
    {"routing.tensor", no_routing_file},
    {"routing.numbers", no_routing_file},
    {"routing.layer", no_routing_file},
    {"routing.first_step", no_routing_file},
    {"routing.steps", no_routing_file},
    {"routing.tokens_per_step", no_routing_file},
    {"products.gradients", no_backward},
    {"products.wgrad_type", no_backward},
    {"products.accumulate_wgrad", no_backward},
    {"products.delayed_wgrad", no_backward},
    {"products.weight_storage", host_weights},
    {"products.weight_reuse", no_quantization},
    {"expert_layer", no_layer},
    {"expert_layer.fused_activation", no_fused_kernel, nullptr, true},
    {"expert_layer.recompute_activation", no_backward},
    {"expert_layer.down_scaling", one_recipe},
    {"streams", one_stream},
    {"workspace", no_workspace},
    {"setup_arrays", no_arrays},
    {"try_algorithms", no_algorithms},
    {"programmatic_launch", no_programmatic},
    {"int32_splits", host_splits},
    {"launch.time_limit_s", fixed_number},
    {"launch.deadline_factor", no_replays},
    {"launch.markers", no_markers},
    {"launch.graphs", no_apart},
    {"launch.graph_pool", one_graph},
    {"launch.in_flight", one_in_flight},
    {"recipe.activation_format", one_format},
    {"recipe.gradient_format", no_backward},
    {"recipe.gradient_format", one_format},
    {"recipe.pow2_scales", no_pow2, describe_scales, true},
    {"recipe.amax_epsilon", no_epsilon},
    {"recipe.split_accumulator", always_promoted,
     [](RunRequest& r) { r.recipe.split_accumulator = true; }},
    {"recipe.delayed", no_history},
    {"recipe.square_weight_blocks", one_weight_block},
    {"recipe.square_activation_blocks", one_block},
    {"recipe.square_gradient_blocks", no_backward},
    {"recipe.square_gradient_blocks", one_block},
    {"recipe.hadamard", no_hadamard},
    {"recipe.stochastic_rounding", no_stochastic_rounding},
    {"measure.recorded_steps", no_routing_file},
    {"measure.stamps", host_spans},
    {"measure.stamps", no_stamps},
    {"measure.isolated", host_spans},
    {"measure.observer", host_spans},
    {"measure.trace", host_spans},
    {"measure.traced_iterations", no_trace},
    {"cublaslt_library", no_library},
};

/// Whether `path` is `root` or below it.
bool is_below(std::string_view path, std::string_view root) {
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '.');
}

void force(const Setting& setting, RunRequest& request) {
  if (setting.force != nullptr) return setting.force(request);
  const RunRequest defaults;
  for_each_leaf(kType<RunRequest>, &defaults, [&](const Leaf& leaf) {
    if (!is_below(leaf.path, setting.path)) return;
    const bool is_switch = leaf.path == setting.path && leaf.type.kind == Kind::Bool;
    set_leaf(kType<RunRequest>, &request, leaf.path,
             is_switch ? "false" : text_of(leaf.type, leaf.value));
  });
}

std::string shown(const Leaf& leaf) {
  const std::string text = text_of(leaf.type, leaf.value);
  if (leaf.type.kind == Kind::Bool) return text == "true" ? "on" : "off";
  return text.empty() ? "none" : text;
}

LeafTexts texts_below(std::string_view root, const RunRequest& request) {
  LeafTexts texts;
  for_each_leaf(kType<RunRequest>, &request, [&](const Leaf& leaf) {
    if (is_below(leaf.path, root)) texts.emplace(leaf.path, shown(leaf));
  });
  return texts;
}

}  // namespace

std::string inapplicable_reason(std::string_view path, const RunRequest& request) {
  for (const Setting& setting : kSettings) {
    if (!is_below(path, setting.path)) continue;
    if (std::string reason = without_effect(setting.no_effect, request); !reason.empty())
      return reason;
  }
  return {};
}

ForcedSettings forced_settings(const RunRequest& request) {
  ForcedSettings forced{.effective = request, .deviations = {}};
  for (const Setting& setting : kSettings) {
    const std::string reason = without_effect(setting.no_effect, request);
    if (reason.empty()) continue;
    const LeafTexts defaults = texts_below(setting.path, RunRequest());
    const LeafTexts before = texts_below(setting.path, forced.effective);
    // A default asks for nothing.
    const bool asked = before != defaults;
    if (!asked && !setting.even_by_default) continue;
    force(setting, forced.effective);
    const LeafTexts after = texts_below(setting.path, forced.effective);
    for (const auto& [path, text] : before) {
      const auto now = after.find(path);
      const auto unasked = defaults.find(path);
      if (unasked != defaults.end() && unasked->second == text) continue;
      std::string effective = now == after.end() ? "none" : now->second;
      if (effective == text) continue;
      forced.deviations.push_back(
          {.field = path, .requested = text, .effective = std::move(effective), .reason = reason});
    }
  }
  return forced;
}

bool same_step(const RunRequest& a, const RunRequest& b) {
  const auto effect = [](const RunRequest& request) {
    RunRequest effective = forced_settings(request).effective;
    effective.shape.preset.clear();
    return effective;
  };
  return a == b || effect(a) == effect(b);
}

}  // namespace engine

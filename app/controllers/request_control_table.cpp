// The table of controls: the rail, the palette and the words for settings follow it.
#include <array>
#include <tuple>

#include "app/controllers/request_controls.h"
#include "app/controllers/setting_meanings.h"
#include "engine/model/backend_traits.h"
#include "engine/model/recipe_traits.h"

namespace app {
namespace {

using enum ControlKind;

/// The labels of a table of traits, by the order of its enumeration. They are literals, so
/// they are null-terminated.
template <class Table>
constexpr auto labels_of(const Table& table) {
  std::array<ControlChoice, std::tuple_size_v<Table>> choices{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    choices[i] = {table[i].label.data(), static_cast<std::int64_t>(i)};
  }
  return choices;
}

constexpr auto kScalingLabels = labels_of(engine::kRecipeTraits);
constexpr auto kBackends = labels_of(engine::kBackendTraits);
constexpr auto kActivations = labels_of(engine::kActivationTraits);
constexpr auto kWorkspaces = labels_of(engine::kWorkspaceTraits);

template <class Enum>
constexpr ControlChoice choice(Enum value, const char* label, bool file = false) {
  return {label, static_cast<std::int64_t>(value), file};
}

using engine::CacheMode;
using engine::Distribution;
using engine::ElementType;
using engine::LaunchKind;
using engine::Pace;
using engine::PoolSharing;
using engine::RoutingDistribution;
using engine::RoutingNumbers;
using engine::SetupArrays;
using engine::StepGraphs;
using engine::StepKind;
using engine::StepPasses;
using engine::TraceLevel;
using engine::WeightStorage;
using kernels::AmaxAlgorithm;
using kernels::Fp8Format;

constexpr ControlChoice kDistributions[] = {
    choice(Distribution::Normal, "Normal"), choice(Distribution::Uniform, "Uniform"),
    choice(Distribution::HeavyTailed, "Heavy-tailed"), choice(Distribution::Zeros, "Zeros"),
    choice(Distribution::NonFinite, "With inf/NaN")};
constexpr ControlChoice kElements[] = {choice(ElementType::Bf16, "BF16"),
                                       choice(ElementType::Fp16, "FP16"),
                                       choice(ElementType::Fp32, "FP32")};
constexpr ControlChoice kRoutings[] = {
    choice(RoutingDistribution::Uniform, "Uniform"),
    choice(RoutingDistribution::Mild, "Mild (±20 %)"),
    choice(RoutingDistribution::Zipf, "Zipf 0.7"),
    choice(RoutingDistribution::Heavy, "Heavy (Zipf 1.5)"),
    choice(RoutingDistribution::OneHot, "One-hot"),
    choice(RoutingDistribution::HalfEmpty, "Every other expert empty"),
    choice(RoutingDistribution::File, "From a file", /*file=*/true)};
constexpr ControlChoice kRoutingNumbers[] = {choice(RoutingNumbers::Detect, "Auto-detect"),
                                             choice(RoutingNumbers::Counts, "Rows per expert"),
                                             choice(RoutingNumbers::Vllm, "Experts by token"),
                                             choice(RoutingNumbers::Megatron, "Experts by layer")};
constexpr ControlChoice kSteps[] = {choice(StepKind::Linear, "Linear"),
                                    choice(StepKind::ExpertLayer, "Expert layer")};
constexpr ControlChoice kPasses[] = {choice(StepPasses::Forward, "Forward"),
                                     choice(StepPasses::Backward, "Backward"),
                                     choice(StepPasses::ForwardBackward, "Both")};
constexpr ControlChoice kWgradTypes[] = {choice(ElementType::Bf16, "BF16"),
                                         choice(ElementType::Fp32, "FP32")};
constexpr ControlChoice kWeightStorages[] = {choice(WeightStorage::Grouped, "One tensor"),
                                             choice(WeightStorage::List, "List")};
constexpr ControlChoice kHighPrecisions[] = {choice(ElementType::Bf16, "BF16"),
                                             choice(ElementType::Fp16, "FP16")};
constexpr ControlChoice kFormats[] = {choice(Fp8Format::E4m3, "E4M3"),
                                      choice(Fp8Format::E5m2, "E5M2")};
constexpr ControlChoice kAlgorithms[] = {choice(AmaxAlgorithm::MostRecent, "Most recent"),
                                         choice(AmaxAlgorithm::Max, "Max")};
constexpr ControlChoice kSetupArrays[] = {choice(SetupArrays::PerMatmul, "Per matmul"),
                                          choice(SetupArrays::Shared, "Shared")};
constexpr ControlChoice kSplitWidths[] = {choice(false, "64 bit"), choice(true, "32 bit")};
constexpr ControlChoice kLaunches[] = {choice(LaunchKind::Eager, "Eager"),
                                       choice(LaunchKind::GraphReplay, "Graph")};
constexpr ControlChoice kStepGraphs[] = {choice(StepGraphs::One, "One"),
                                         choice(StepGraphs::ForwardAndBackward, "Fwd and bwd")};
constexpr ControlChoice kPoolSharings[] = {choice(PoolSharing::Shared, "Shared"),
                                           choice(PoolSharing::OnePerGraph, "One per graph")};
constexpr ControlChoice kTraceLevels[] = {choice(TraceLevel::Nodes, "Nodes"),
                                          choice(TraceLevel::Graphs, "Graphs"),
                                          choice(TraceLevel::Off, "Off")};
constexpr ControlChoice kCacheModes[] = {choice(CacheMode::Warm, "Warm"),
                                         choice(CacheMode::Cold, "Cold")};
constexpr ControlChoice kPaces[] = {choice(Pace::Sustained, "Sustained"),
                                    choice(Pace::Burst, "Burst")};

/// Its tooltip is the meaning of its field; one without a meaning does not compile.
consteval RequestControl control(const char* group, const char* id, const char* field,
                                 ControlKind kind, const char* label,
                                 const ControlOptions& options = {}) {
  RequestControl made{group, id, field, kind, label, options};
  made.options.tooltip = find_setting(field)->meaning;
  return made;
}

constexpr RequestControl kControls[] = {
    control("Input", "shape.experts", "shape.num_experts", Number, "Experts",
            {.row = "Experts, rows"}),
    control("Input", "shape.rows", "shape.rows", Number, "Rows", {.beside = true}),
    control("Input", "shape.n", "shape.n", Number, "N", {.row = "N, K"}),
    control("Input", "shape.k", "shape.k", Number, "K", {.beside = true}),
    control("Input", "activations.source", "activations.synthetic.distribution", List, "X",
            {.alone = "X values", .choices = kDistributions}),
    control("Input", "activations.element", "activations.synthetic.element", List, "##element",
            {.alone = "X element type", .choices = kElements, .beside = true}),
    control("Input", "weights.source", "weights.synthetic.distribution", List, "W",
            {.alone = "W values", .choices = kDistributions}),
    control("Input", "weights.element", "weights.synthetic.element", List, "##element",
            {.alone = "W element type", .choices = kElements, .beside = true}),
    control("Input", "down_weights.source", "expert_layer.down_weights.synthetic.distribution",
            List, "Wdown", {.alone = "Wdown values", .choices = kDistributions}),
    control("Input", "down_weights.element", "expert_layer.down_weights.synthetic.element", List,
            "##element", {.alone = "Wdown element type", .choices = kElements, .beside = true}),
    control("Input", "input.seed", "seed", Number, "Seed", {.maximum = 9'999'999}),

    control("Routing", "routing.distribution", "routing.distribution", List, "Tokens per expert",
            {.alone = "Routing", .choices = kRoutings}),
    control("Routing", "routing.numbers", "routing.numbers", List, "  File contains",
            {.alone = "Contents of a routing file",
             .words = "recording vllm sglang megatron",
             .choices = kRoutingNumbers}),
    control("Routing", "routing.layer", "routing.layer", Number, "  Layer",
            {.alone = "Layer of a routing file"}),
    control("Routing", "routing.tokens_per_step", "routing.tokens_per_step", Number,
            "  Tokens per step", {.alone = "Tokens per replayed step", .zero = "0: a sequence"}),
    control("Routing", "routing.first_step", "routing.first_step", Number, "  First step",
            {.alone = "First recorded step to replay"}),
    control("Routing", "routing.steps", "routing.steps", Number, "  Steps",
            {.alone = "Recorded steps to cycle through", .zero = "0: all"}),
    control("Routing", "routing.alignment", "routing.alignment", Number, "Align splits to",
            {.seldom = true}),

    control(
        "Step", "step.kind", "step", Segments, "",
        {.alone = "Step", .words = "mlp ffn swiglu moe whole", .choices = kSteps, .gated = true}),
    control("Step", "step.activation", "expert_layer.activation", List, "Activation",
            {.choices = kActivations}),
    control("Step", "step.fused_activation", "expert_layer.fused_activation", Switch,
            "Fused activation"),
    control("Step", "step.recompute_activation", "expert_layer.recompute_activation", Switch,
            "Recompute A", {.beside = true, .seldom = true}),
    control("Step", "step.top_k", "expert_layer.top_k", Number, "Experts per token",
            {.words = "top_k topk permute unpermute probabilities router",
             .zero = "0: rows, no tokens"}),
    control("Step", "step.passes", "products.passes", Segments, "",
            {.alone = "Passes", .choices = kPasses}),
    control("Step", "step.bias", "products.bias", Switch, "Bias", {.seldom = true}),
    control("Step", "gradients.source", "products.gradients.synthetic.distribution", List, "dY",
            {.alone = "dY values", .choices = kDistributions}),
    control("Step", "gradients.element", "products.gradients.synthetic.element", List, "##element",
            {.alone = "dY element type", .choices = kElements, .beside = true}),
    control("Step", "step.wgrad_type", "products.wgrad_type", Segments, "dW type",
            {.choices = kWgradTypes, .seldom = true}),
    control("Step", "step.accumulate", "products.accumulate_wgrad", Switch,
            "dW +=", {.alone = "Accumulate dW", .seldom = true}),
    control("Step", "step.delayed_wgrad", "products.delayed_wgrad", Switch, "dW last",
            {.beside = true, .seldom = true}),
    control("Step", "step.weight_storage", "products.weight_storage", Segments, "Weights",
            {.choices = kWeightStorages, .seldom = true}),
    control("Step", "step.weight_reuse", "products.weight_reuse", Number, "Weight reuse",
            {.seldom = true}),

    control("Recipe", "recipe.scaling", "recipe.scaling", Segments, "",
            {.alone = "Recipe", .choices = kScalingLabels, .per_row = 3, .gated = true}),
    control("Recipe", "recipe.mixed", "expert_layer.mixed_recipes", Switch, "Mixed recipes",
            {.seldom = true}),
    control("Recipe", "recipe.down_scaling", "expert_layer.down_scaling", List, "Down recipe",
            {.choices = kScalingLabels, .gated = true}),
    control("Recipe", "recipe.high_precision", "recipe.high_precision", Segments,
            "High-precision type", {.choices = kHighPrecisions, .seldom = true}),
    control("Recipe", "recipe.format", "recipe.activation_format", Segments, "X format",
            {.choices = kFormats, .gated = true}),
    control("Recipe", "recipe.gradient_format", "recipe.gradient_format", Segments, "dY format",
            {.choices = kFormats, .gated = true}),
    control("Recipe", "recipe.epsilon", "recipe.amax_epsilon", Decades, "Amax epsilon",
            {.seldom = true, .maximum = 10'000}),
    control("Recipe", "recipe.pow2", "recipe.pow2_scales", Switch, "Power-of-two scales",
            {.words = "pow2 pow-2 e8m0 exact fp32"}),
    control("Recipe", "recipe.split_accumulator", "recipe.split_accumulator", Switch,
            "Split accumulator", {.beside = true}),
    control(
        "Recipe", "recipe.square_x", "recipe.square_activation_blocks", Switch, "X",
        {.alone = "Square blocks of X", .row = "Square blocks", .gated = true, .compared = true}),
    control("Recipe", "recipe.square", "recipe.square_weight_blocks", Switch, "W",
            {.alone = "Square blocks of W", .beside = true, .gated = true, .compared = true}),
    control("Recipe", "recipe.square_dy", "recipe.square_gradient_blocks", Switch, "dY",
            {.alone = "Square blocks of dY", .beside = true, .gated = true, .compared = true}),
    control("Recipe", "recipe.history", "recipe.delayed.history_length", Number, "Amax history",
            {.compared = true}),
    control("Recipe", "recipe.algorithm", "recipe.delayed.algorithm", Segments, "Scale from",
            {.alone = "Delayed scale from", .choices = kAlgorithms, .compared = true}),
    control("Recipe", "recipe.margin", "recipe.delayed.margin", Number, "Margin",
            {.seldom = true, .compared = true}),
    control("Recipe", "recipe.hadamard", "recipe.hadamard", Switch, "Hadamard",
            {.alone = "Hadamard transform", .compared = true}),
    control("Recipe", "recipe.stochastic", "recipe.stochastic_rounding", Switch,
            "Stochastic rounding", {.beside = true, .compared = true}),

    control("Engine", "engine.backend", "backend", List, "Backend",
            {.words = "gpu cuda device processor", .choices = kBackends}),
    control("Engine", "engine.workspace", "workspace", Segments, "Workspace",
            {.choices = kWorkspaces, .per_row = 2, .gated = true}),
    control("Engine", "engine.streams", "streams", Number, "Streams", {.seldom = true}),
    control("Engine", "engine.setup_arrays", "setup_arrays", Segments, "Setup arrays",
            {.choices = kSetupArrays, .seldom = true}),
    control("Engine", "engine.splits", "int32_splits", Segments, "Splits",
            {.choices = kSplitWidths, .seldom = true}),
    control("Engine", "engine.programmatic", "programmatic_launch", Switch, "Programmatic launches",
            {.seldom = true}),
    control("Engine", "engine.try_algorithms", "try_algorithms", Switch, "Try algorithms",
            {.seldom = true}),
    control("Engine", "engine.launch", "launch.kind", Segments, "Launch",
            {.choices = kLaunches, .gated = true}),
    control("Engine", "engine.graphs", "launch.graphs", Segments, "Graphs",
            {.choices = kStepGraphs}),
    control("Engine", "engine.graph_pool", "launch.graph_pool", Segments, "Graph pool",
            {.choices = kPoolSharings}),
    control("Engine", "engine.in_flight", "launch.in_flight", Number, "In flight",
            {.alone = "Micro-batches in flight"}),
    control("Engine", "engine.iterations", "launch.iterations", Number, "Iterations"),
    control("Engine", "engine.median_within", "launch.median_within", Number, "Until median ± %",
            {.seldom = true, .zero = "0: fixed count"}),
    control("Engine", "engine.time_limit", "launch.time_limit_s", Number, "Time limit, s"),
    control("Engine", "engine.deadline_factor", "launch.deadline_factor", Number, "Deadline x",
            {.seldom = true, .zero = "0: no deadline"}),
    control("Engine", "engine.markers", "launch.markers", Switch, "Markers", {.seldom = true}),
    control("Engine", "engine.layers", "layers", Number, "Layers", {.seldom = true}),

    control("Measure", "measure.trace", "measure.trace", Segments, "Trace",
            {.choices = kTraceLevels}),
    control("Measure", "measure.traced_iterations", "measure.traced_iterations", Number, "Traced",
            {.seldom = true}),
    control("Measure", "measure.cache", "measure.cache", Segments, "Caches",
            {.choices = kCacheModes}),
    control("Measure", "measure.pace", "measure.pace", Segments, "Pace", {.choices = kPaces}),
    control("Measure", "measure.isolated", "measure.isolated", Switch, "Isolated experts"),
    control("Measure", "measure.stamps", "measure.stamps", Switch, "Stamps", {.beside = true}),
    control("Measure", "measure.ceilings", "measure.ceilings", Switch, "Ceilings"),
    control("Measure", "measure.observer", "measure.observer", Switch, "Tracing overhead",
            {.beside = true, .seldom = true}),
    control("Measure", "measure.recorded_steps", "measure.recorded_steps", Number, "SNR of steps",
            {.alone = "SNR of recorded steps"}),
};

}  // namespace

std::span<const RequestControl> request_controls() { return kControls; }

}  // namespace app

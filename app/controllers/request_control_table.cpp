// The table of controls: the rail, the palette and the words for settings follow it.
#include <array>
#include <tuple>

#include "app/controllers/request_controls.h"
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

constexpr const char* kElementTip = "Element type of the values";

constexpr RequestControl control(const char* group, const char* id, const char* field,
                                 ControlKind kind, const char* label,
                                 const ControlOptions& options = {}) {
  return {group, id, field, kind, label, options};
}

constexpr RequestControl kControls[] = {
    control("Input", "shape.experts", "shape.num_experts", Number, "Experts",
            {.tooltip = "Groups of the grouped product"}),
    control("Input", "shape.rows", "shape.rows", Number, "Rows",
            {.tooltip = "Rows of X: routed (token, expert) pairs, the sum of all splits"}),
    control(
        "Input", "shape.n", "shape.n", Number, "N",
        {.tooltip = "Output features of one expert. In an expert layer: columns of H; with a gated "
                    "activation, gate and up together"}),
    control(
        "Input", "shape.k", "shape.k", Number, "K",
        {.tooltip = "Input features: the reduction dimension of fprop. In an expert layer also the "
                    "columns of Y"}),
    control("Input", "activations.source", "activations.synthetic.distribution", List, "X",
            {.alone = "X values", .tooltip = "Values of X [tokens, K]", .choices = kDistributions}),
    control(
        "Input", "activations.element", "activations.synthetic.element", List, "##element",
        {.alone = "X element type", .tooltip = kElementTip, .choices = kElements, .beside = true}),
    control("Input", "weights.source", "weights.synthetic.distribution", List, "W",
            {.alone = "W values",
             .tooltip = "Values of W [experts, N, K]; in an expert layer, of Wup",
             .choices = kDistributions}),
    control(
        "Input", "weights.element", "weights.synthetic.element", List, "##element",
        {.alone = "W element type", .tooltip = kElementTip, .choices = kElements, .beside = true}),
    control("Input", "down_weights.source", "expert_layer.down_weights.synthetic.distribution",
            List, "Wdown",
            {.alone = "Wdown values",
             .tooltip = "Values of Wdown [experts, K, columns of A]",
             .choices = kDistributions}),
    control("Input", "down_weights.element", "expert_layer.down_weights.synthetic.element", List,
            "##element",
            {.alone = "Wdown element type",
             .tooltip = kElementTip,
             .choices = kElements,
             .beside = true}),
    control("Input", "input.seed", "seed", Number, "Seed",
            {.tooltip = "The same seed gives the same synthetic inputs and routing",
             .maximum = 9'999'999}),

    control("Routing", "routing.distribution", "routing.distribution", List, "Tokens per expert",
            {.alone = "Routing",
             .tooltip = "How the tokens are distributed over the experts",
             .choices = kRoutings}),
    control("Routing", "routing.numbers", "routing.numbers", List, "  File contains",
            {.alone = "Contents of a routing file",
             .tooltip = "What the routing file contains: detected from name, type, dimensions and "
                        "values, or as set here",
             .words = "recording vllm sglang megatron",
             .choices = kRoutingNumbers}),
    control("Routing", "routing.layer", "routing.layer", Number, "  Layer",
            {.alone = "Layer of a routing file",
             .tooltip =
                 "Layer of the routing file, counted from 0 whatever numbers the file uses; every "
                 "layer of the step uses the same routing"}),
    control("Routing", "routing.tokens_per_step", "routing.tokens_per_step", Number,
            "  Tokens per step",
            {.alone = "Tokens per replayed step",
             .tooltip = "How many consecutive tokens form a step, if the file lists the experts of "
                        "each token. 0 = a whole sequence"}),
    control("Routing", "routing.first_step", "routing.first_step", Number, "  First step",
            {.alone = "First recorded step to replay",
             .tooltip = "The step of the routing file that the first iteration uses"}),
    control(
        "Routing", "routing.steps", "routing.steps", Number, "  Steps",
        {.alone = "Recorded steps to cycle through",
         .tooltip = "Iterations cycle through the splits of this many recorded steps. 0 = all"}),
    control(
        "Routing", "routing.alignment", "routing.alignment", Number, "Align splits to",
        {.tooltip = "Every split except the last non-empty one is a multiple of this many rows"}),

    control("Step", "step.kind", "step", Segments, "",
            {.alone = "Step",
             .tooltip = "Linear: one grouped product. Expert layer: up projection, activation and "
                        "down projection",
             .words = "mlp ffn swiglu moe whole",
             .choices = kSteps,
             .gated = true}),
    control("Step", "step.activation", "expert_layer.activation", List, "Activation",
            {.tooltip =
                 "A = activation(H). A gated activation reads gate and up from the two halves of H",
             .choices = kActivations}),
    control("Step", "step.fused_activation", "expert_layer.fused_activation", Switch,
            "Fused activation",
            {.tooltip = "A and dH are computed in the kernels that quantize them; off: they are "
                        "written in high precision first"}),
    control("Step", "step.recompute_activation", "expert_layer.recompute_activation", Switch,
            "Recompute A",
            {.tooltip = "Backward computes A again from H, so forward does not save it",
             .beside = true}),
    control(
        "Step", "step.top_k", "expert_layer.top_k", Number, "Experts per token",
        {.tooltip = "Include token permutation (top-k): permute, un-permute with probabilities, "
                    "and their gradients are part of the step. 0 = input already permuted",
         .words = "top_k topk permute unpermute probabilities router"}),
    control(
        "Step", "step.passes", "linear.passes", Segments, "",
        {.alone = "Passes",
         .tooltip =
             "Forward: Y = X W^T. Backward: dX = dY W and dW = dY^T X, from what a forward step "
             "has saved. In an expert layer: both projections and the activation between them",
         .choices = kPasses}),
    control("Step", "step.bias", "linear.bias", Switch, "Bias",
            {.tooltip = "Adds b to Y; the backward pass gives its gradient, the sum of dY's rows. "
                        "In an expert layer, both projections have one"}),
    control("Step", "gradients.source", "linear.gradients.synthetic.distribution", List, "dY",
            {.alone = "dY values",
             .tooltip =
                 "Values of dY [tokens, N], in an expert layer [tokens, K]; every layer reads the "
                 "same dY",
             .choices = kDistributions}),
    control(
        "Step", "gradients.element", "linear.gradients.synthetic.element", List, "##element",
        {.alone = "dY element type", .tooltip = kElementTip, .choices = kElements, .beside = true}),
    control("Step", "step.wgrad_type", "linear.wgrad_type", Segments, "dW type",
            {.tooltip = "Element type of dW", .choices = kWgradTypes}),
    control(
        "Step", "step.accumulate", "linear.accumulate_wgrad", Switch, "dW +=",
        {.alone = "Accumulate dW", .tooltip = "Adds to the existing dW instead of replacing it"}),
    control("Step", "step.delayed_wgrad", "linear.delayed_wgrad", Switch, "dW last",
            {.tooltip =
                 "Computes every dW at the end of the step instead of right after its layer's dX",
             .beside = true}),
    control("Step", "step.weight_storage", "linear.weight_storage", Segments, "Weights",
            {.tooltip =
                 "One tensor [experts, N, K] with one quantizer, or one tensor [N, K] per expert",
             .choices = kWeightStorages}),
    control(
        "Step", "step.weight_reuse", "linear.weight_reuse", Number, "Weight reuse",
        {.tooltip = "Weights are quantized in the first of this many steps and reused by the rest. "
                    "With 2 or more, Compare shows the break-even count against BF16"}),

    control("Recipe", "recipe.scaling", "recipe.scaling", Segments, "",
            {.alone = "Recipe", .choices = kScalingLabels, .per_row = 3, .gated = true}),
    control("Recipe", "recipe.mixed", "expert_layer.mixed_recipes", Switch, "Mixed recipes",
            {.tooltip = "The down projection uses its own scaling; both projections share the rest "
                        "of the recipe"}),
    control("Recipe", "recipe.down_scaling", "expert_layer.down_scaling", List, "Down recipe",
            {.tooltip = "Scaling of A, Wdown and dY", .choices = kScalingLabels, .gated = true}),
    control("Recipe", "recipe.high_precision", "recipe.high_precision", Segments,
            "High-precision type",
            {.tooltip =
                 "Element type of everything that is not quantized: Y and dX, in an expert layer "
                 "also H, dA and dH, and every operand with BF16",
             .choices = kHighPrecisions}),
    control("Recipe", "recipe.format", "recipe.activation_format", Segments, "X format",
            {.choices = kFormats, .gated = true}),
    control("Recipe", "recipe.gradient_format", "recipe.gradient_format", Segments, "dY format",
            {.tooltip = "Per-tensor scaling often uses E5M2", .choices = kFormats, .gated = true}),
    control("Recipe", "recipe.epsilon", "recipe.amax_epsilon", Decades, "Amax epsilon",
            {.tooltip =
                 "Lower bound of amax. Drag to change it by decades, click to type, double click "
                 "for 0",
             .maximum = 10'000}),
    control("Recipe", "recipe.pow2", "recipe.pow2_scales", Switch, "Power-of-two scales",
            {.tooltip = "Scales are rounded down to powers of two; off: FP32 scales",
             .words = "pow2 pow-2 e8m0 exact fp32"}),
    control("Recipe", "recipe.split_accumulator", "recipe.split_accumulator", Switch,
            "Split accumulator",
            {.tooltip = "Promotes partial sums to FP32 while the product is accumulated",
             .beside = true}),
    control("Recipe", "recipe.square_x", "recipe.square_activation_blocks", Switch, "X",
            {.alone = "Square blocks of X",
             .tooltip = "One scale for 128x128 elements of X instead of 1x128",
             .row = "Square blocks",
             .gated = true,
             .compared = true}),
    control(
        "Recipe", "recipe.square", "recipe.square_weight_blocks", Switch, "W",
        {.alone = "Square blocks of W",
         .tooltip = "One scale for 128x128 (FP8 block), 32x32 (MXFP8) or 16x16 (NVFP4) weights, so "
                    "that both directions see the same values",
         .beside = true,
         .gated = true,
         .compared = true}),
    control("Recipe", "recipe.square_dy", "recipe.square_gradient_blocks", Switch, "dY",
            {.alone = "Square blocks of dY",
             .tooltip = "One scale for 128x128 elements of dY instead of 1x128",
             .beside = true,
             .gated = true,
             .compared = true}),
    control("Recipe", "recipe.history", "recipe.delayed.history_length", Number, "Amax history",
            {.tooltip = "Number of steps whose amax is kept", .compared = true}),
    control("Recipe", "recipe.algorithm", "recipe.delayed.algorithm", Segments, "Scale from",
            {.alone = "Delayed scale from",
             .tooltip = "Scale from the last step's amax, or from the largest amax of the history",
             .choices = kAlgorithms,
             .compared = true}),
    control(
        "Recipe", "recipe.margin", "recipe.delayed.margin", Number, "Margin",
        {.tooltip = "Makes the scale 2^margin smaller, which leaves headroom for a growing amax",
         .compared = true}),
    control("Recipe", "recipe.hadamard", "recipe.hadamard", Switch, "Hadamard",
            {.alone = "Hadamard transform",
             .tooltip =
                 "Applies a random Hadamard transform before quantizing the columnwise copy, which "
                 "spreads an outlier over 16 elements",
             .compared = true}),
    control("Recipe", "recipe.stochastic", "recipe.stochastic_rounding", Switch,
            "Stochastic rounding",
            {.tooltip = "Rounds up or down at random, in proportion to the distance: unbiased on "
                        "average. The random numbers depend on the seed",
             .beside = true,
             .compared = true}),

    control("Engine", "engine.backend", "backend", List, "Backend",
            {.tooltip = "Library or reference that computes the products",
             .words = "gpu cuda device processor",
             .choices = kBackends}),
    control("Engine", "engine.workspace", "workspace", Segments, "Workspace",
            {.tooltip = "Which products of the step share a cuBLASLt workspace",
             .choices = kWorkspaces,
             .per_row = 2,
             .gated = true}),
    control("Engine", "engine.streams", "streams", Number, "Streams",
            {.tooltip = "The experts' matmuls are distributed over this many streams"}),
    control("Engine", "engine.setup_arrays", "setup_arrays", Segments, "Setup arrays",
            {.tooltip =
                 "Per matmul: every grouped product has its own pointer and dimension arrays, all "
                 "filled by one launch. Shared: one set, filled again before each product",
             .choices = kSetupArrays}),
    control(
        "Engine", "engine.splits", "int32_splits", Segments, "Splits",
        {.tooltip = "Integer type of the router's splits on the device", .choices = kSplitWidths}),
    control("Engine", "engine.programmatic", "programmatic_launch", Switch, "Programmatic launches",
            {.tooltip =
                 "Programmatic dependent launch: quantize, bias and offset kernels may start while "
                 "the preceding kernel drains, and wait for it before their first access. "
                 "Results are bit-identical"}),
    control("Engine", "engine.try_algorithms", "try_algorithms", Switch, "Try algorithms",
            {.tooltip =
                 "Times the algorithms that cuBLASLt's heuristic offers, once per shape, and uses "
                 "the fastest. Off: the heuristic's first choice"}),
    control("Engine", "engine.launch", "launch.kind", Segments, "Launch",
            {.tooltip =
                 "Eager: launches every kernel in every step. Graph: captures the step once, then "
                 "replays it",
             .choices = kLaunches,
             .gated = true}),
    control("Engine", "engine.graphs", "launch.graphs", Segments, "Graphs",
            {.tooltip = "One for the whole step, or one for each forward and each backward pass of "
                        "an expert layer, as training frameworks capture them",
             .choices = kStepGraphs}),
    control("Engine", "engine.graph_pool", "launch.graph_pool", Segments, "Graph pool",
            {.tooltip =
                 "Graphs allocate what only they use, such as saved tensors and workspaces, from "
                 "a pool: they share one memory pool, which reuses memory of finished work, "
                 "or have one pool each",
             .choices = kPoolSharings}),
    control("Engine", "engine.in_flight", "launch.in_flight", Number, "In flight",
            {.alone = "Micro-batches in flight",
             .tooltip =
                 "Number of micro-batches in a step, each with its own splits: all forward passes "
                 "run first, then all backward passes. They share the quantized weights and, "
                 "with dW +=, dW"}),
    control("Engine", "engine.iterations", "launch.iterations", Number, "Iterations",
            {.tooltip = "Timed repetitions: the sample count of all displayed times"}),
    control(
        "Engine", "engine.median_within", "launch.median_within", Number, "Until median ± %",
        {.tooltip = "Repeats until the 95 % interval of the median is this narrow, or until the "
                    "time limit. 0 = exactly as many iterations as above"}),
    control("Engine", "engine.time_limit", "launch.time_limit_s", Number, "Time limit, s",
            {.tooltip = "Time limit for repeating until the median is known this precisely"}),
    control("Engine", "engine.deadline_factor", "launch.deadline_factor", Number, "Deadline x",
            {.tooltip =
                 "A replay that takes this many times the 99th percentile of those before it, and "
                 "at least 0.5 s, is a stall: the run ends and reports where it stopped. 0 = no "
                 "deadline"}),
    control("Engine", "engine.markers", "launch.markers", Switch, "Markers",
            {.tooltip =
                 "A node after every kernel of the graph marks it as done, so that a stall shows "
                 "where it happened. Replays then run one at a time"}),
    control(
        "Engine", "engine.layers", "layers", Number, "Layers",
        {.tooltip =
             "Number of linear or expert layers in a step. Each has its own weights; all read the "
             "same X"}),

    control("Measure", "measure.trace", "measure.trace", Segments, "Trace",
            {.tooltip =
                 "What CUPTI records: every node, one record per graph launch, or nothing. Graphs "
                 "are instantiated at the trace level under which they are replayed",
             .choices = kTraceLevels}),
    control("Measure", "measure.traced_iterations", "measure.traced_iterations", Number, "Traced",
            {.tooltip = "Number of timed iterations to trace, counted from the first"}),
    control("Measure", "measure.cache", "measure.cache", Segments, "Caches",
            {.tooltip =
                 "Warm: caches stay as the previous iteration leaves them. Cold: they are flushed "
                 "between iterations by writing twice the size of the last-level cache",
             .choices = kCacheModes}),
    control("Measure", "measure.pace", "measure.pace", Segments, "Pace",
            {.tooltip =
                 "Sustained: back to back, so that the clock drops to what the power limit allows. "
                 "Burst: 50 ms idle before each iteration",
             .choices = kPaces}),
    control("Measure", "measure.isolated", "measure.isolated", Switch, "Isolated experts",
            {.tooltip = "Times each expert alone on the device, stage by stage"}),
    control("Measure", "measure.stamps", "measure.stamps", Switch, "Stamps",
            {.tooltip = "Every tile of the quantize kernels records when it ran", .beside = true}),
    control(
        "Measure", "measure.ceilings", "measure.ceilings", Switch, "Ceilings",
        {.tooltip = "Measures a copy and a dense product of this size: the roofs of the roofline"}),
    control("Measure", "measure.observer", "measure.observer", Switch, "Tracing overhead",
            {.tooltip =
                 "Measures the cost of tracing: times the same step untraced, with graph records "
                 "and with node records, interleaved",
             .beside = true}),
    control("Measure", "measure.recorded_steps", "measure.recorded_steps", Number, "SNR of steps",
            {.alone = "SNR of recorded steps",
             .tooltip =
                 "With a routing file of several steps: measures the output error of this many of "
                 "them, after the timed iterations"}),
};

}  // namespace

std::span<const RequestControl> request_controls() { return kControls; }

}  // namespace app

// What every setting of a request means: the one text that the rail shows as a tooltip and
// `expertscope run --help` prints, by the path of its field.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace app {

/// What settings are sorted by in the help of the command line.
enum class SettingGroup : std::uint8_t {
  Shape,
  Routing,
  Inputs,
  Recipe,
  Step,
  Launch,
  Measurement,
  Backend,
};
inline constexpr auto kSettingGroups = std::to_array<const char*>(
    {"Shape", "Routing", "Inputs", "Recipe", "Step", "Launch", "Measurement", "Backend"});

struct SettingAbout {
  std::string_view field;  // path: "shape.n"
  SettingGroup group;
  const char* meaning;  // literal, so it is null-terminated
};

/// In the order of the help.
inline constexpr SettingAbout kSettings[] = {
    {"shape.num_experts", SettingGroup::Shape, "Groups of the grouped product"},
    {"shape.rows", SettingGroup::Shape,
     "Rows of X: routed (token, expert) pairs, the sum of all splits"},
    {"shape.n", SettingGroup::Shape,
     "Output features of one expert. In an expert layer: columns of H; with a gated activation, "
     "gate and up together"},
    {"shape.k", SettingGroup::Shape,
     "Input features: the reduction dimension of fprop. In an expert layer also the columns of Y"},
    {"shape.preset", SettingGroup::Shape,
     "Name of the preset that has these sizes: a label. It is checked, never looked up; --preset "
     "takes one"},
    {"routing.distribution", SettingGroup::Routing,
     "How the tokens are distributed over the experts"},
    {"routing.path", SettingGroup::Routing,
     "Routing file (.json, .npy, .npz, .safetensors), read if the distribution is file"},
    {"routing.tensor", SettingGroup::Routing,
     "Tensor in the routing file; empty = the only one, or one with a usual name"},
    {"routing.numbers", SettingGroup::Routing,
     "What the routing file contains: detected from name, type, dimensions and values, or as set"},
    {"routing.layer", SettingGroup::Routing,
     "Layer of the routing file, counted from 0 whatever numbers the file uses; every layer of the "
     "step uses the same routing"},
    {"routing.tokens_per_step", SettingGroup::Routing,
     "How many consecutive tokens form a step, if the file lists the experts of each token. 0 = a "
     "whole sequence"},
    {"routing.first_step", SettingGroup::Routing,
     "The step of the routing file that the first iteration uses"},
    {"routing.steps", SettingGroup::Routing,
     "Iterations cycle through the splits of this many recorded steps. 0 = all"},
    {"routing.alignment", SettingGroup::Routing,
     "Every split except the last non-empty one is a multiple of this many rows"},
    {"activations.synthetic.distribution", SettingGroup::Inputs, "Values of X [tokens, K]"},
    {"activations.synthetic.element", SettingGroup::Inputs, "Element type of the values of X"},
    {"activations.file.path", SettingGroup::Inputs,
     "File with the values of X (.npy, .npz, .safetensors)"},
    {"activations.file.tensor", SettingGroup::Inputs, "Tensor in the file of X; empty for .npy"},
    {"weights.synthetic.distribution", SettingGroup::Inputs,
     "Values of W [experts, N, K]; in an expert layer, of Wup"},
    {"weights.synthetic.element", SettingGroup::Inputs, "Element type of the values of W"},
    {"weights.file.path", SettingGroup::Inputs,
     "File with the values of W (.npy, .npz, .safetensors)"},
    {"weights.file.tensor", SettingGroup::Inputs,
     "Tensor in the file of W; {} stands for the number of the expert; empty for .npy"},
    {"expert_layer.down_weights.synthetic.distribution", SettingGroup::Inputs,
     "Values of Wdown [experts, K, columns of A]"},
    {"expert_layer.down_weights.synthetic.element", SettingGroup::Inputs,
     "Element type of the values of Wdown"},
    {"expert_layer.down_weights.file.path", SettingGroup::Inputs,
     "File with the values of Wdown (.npy, .npz, .safetensors)"},
    {"expert_layer.down_weights.file.tensor", SettingGroup::Inputs,
     "Tensor in the file of Wdown; {} stands for the number of the expert; empty for .npy"},
    {"products.gradients.synthetic.distribution", SettingGroup::Inputs,
     "Values of dY [tokens, N], in an expert layer [tokens, K]; every layer reads the same dY"},
    {"products.gradients.synthetic.element", SettingGroup::Inputs,
     "Element type of the values of dY"},
    {"products.gradients.file.path", SettingGroup::Inputs,
     "File with the values of dY (.npy, .npz, .safetensors)"},
    {"products.gradients.file.tensor", SettingGroup::Inputs,
     "Tensor in the file of dY; empty for .npy"},
    {"seed", SettingGroup::Inputs, "The same seed gives the same synthetic inputs and routing"},
    {"recipe.scaling", SettingGroup::Recipe,
     "How operands are quantized: element format, block and scale"},
    {"expert_layer.mixed_recipes", SettingGroup::Recipe,
     "The down projection uses its own scaling; both projections share the rest of the recipe"},
    {"expert_layer.down_scaling", SettingGroup::Recipe, "Scaling of A, Wdown and dY"},
    {"recipe.high_precision", SettingGroup::Recipe,
     "Element type of everything that is not quantized: Y and dX, in an expert layer also H, dA "
     "and dH, and every operand with BF16"},
    {"recipe.activation_format", SettingGroup::Recipe, "FP8 format of X; W is always E4M3"},
    {"recipe.gradient_format", SettingGroup::Recipe,
     "FP8 format of dY. Per-tensor scaling often uses E5M2"},
    {"recipe.amax_epsilon", SettingGroup::Recipe, "Lower bound of amax"},
    {"recipe.pow2_scales", SettingGroup::Recipe,
     "Scales are rounded down to powers of two; off: FP32 scales"},
    {"recipe.split_accumulator", SettingGroup::Recipe,
     "Promotes partial sums to FP32 while the product is accumulated"},
    {"recipe.square_activation_blocks", SettingGroup::Recipe,
     "One scale for 128x128 elements of X instead of 1x128"},
    {"recipe.square_weight_blocks", SettingGroup::Recipe,
     "One scale for 128x128 (FP8 block), 32x32 (MXFP8) or 16x16 (NVFP4) weights, so that both "
     "directions see the same values"},
    {"recipe.square_gradient_blocks", SettingGroup::Recipe,
     "One scale for 128x128 elements of dY instead of 1x128"},
    {"recipe.delayed.history_length", SettingGroup::Recipe, "Number of steps whose amax is kept"},
    {"recipe.delayed.algorithm", SettingGroup::Recipe,
     "Scale from the last step's amax, or from the largest amax of the history"},
    {"recipe.delayed.margin", SettingGroup::Recipe,
     "Makes the scale 2^margin smaller, which leaves headroom for a growing amax"},
    {"recipe.hadamard", SettingGroup::Recipe,
     "Applies a random Hadamard transform before quantizing the columnwise copy, which spreads an "
     "outlier over 16 elements"},
    {"recipe.stochastic_rounding", SettingGroup::Recipe,
     "Rounds up or down at random, in proportion to the distance: unbiased on average. The random "
     "numbers depend on the seed"},
    {"step", SettingGroup::Step,
     "Linear: one grouped product. Expert layer: up projection, activation and down projection"},
    {"expert_layer.activation", SettingGroup::Step,
     "A = activation(H). A gated activation reads gate and up from the two halves of H"},
    {"expert_layer.fused_activation", SettingGroup::Step,
     "A and dH are computed in the kernels that quantize them; off: they are written in high "
     "precision first"},
    {"expert_layer.recompute_activation", SettingGroup::Step,
     "Backward computes A again from H, so forward does not save it"},
    {"expert_layer.top_k", SettingGroup::Step,
     "Include token permutation (top-k): permute, unpermute with probabilities, and their "
     "gradients are part of the step. 0 = input already permuted. Generated splits do not depend "
     "on "
     "it: where an expert has more rows than there are tokens, tokens choose it more than once"},
    {"products.passes", SettingGroup::Step,
     "Forward: Y = X W^T. Backward: dX = dY W and dW = dY^T X, from what a forward step has saved. "
     "In an expert layer: both projections and the activation between them"},
    {"products.bias", SettingGroup::Step,
     "Adds b to Y; the backward pass gives its gradient, the sum of dY's rows. In an expert layer, "
     "both projections have one"},
    {"products.wgrad_type", SettingGroup::Step, "Element type of dW"},
    {"products.accumulate_wgrad", SettingGroup::Step,
     "Adds to the existing dW instead of replacing it"},
    {"products.delayed_wgrad", SettingGroup::Step,
     "Computes every dW at the end of the step instead of right after its layer's dX"},
    {"products.weight_storage", SettingGroup::Step,
     "One tensor [experts, N, K] with one quantizer, or one tensor [N, K] per expert"},
    {"products.weight_reuse", SettingGroup::Step,
     "Weights are quantized in the first of this many steps and reused by the rest. With 2 or "
     "more, a comparison of runs shows the break-even count against BF16"},
    {"layers", SettingGroup::Step,
     "Number of linear or expert layers in a step. Each has its own weights; all read the same X"},
    {"launch.kind", SettingGroup::Launch,
     "Eager: launches every kernel in every step. Graph: captures the step once, then replays it"},
    {"launch.graphs", SettingGroup::Launch,
     "One for the whole step, or one for each forward and each backward pass of an expert layer, "
     "as training frameworks capture them"},
    {"launch.graph_pool", SettingGroup::Launch,
     "Graphs allocate what only they use, such as saved tensors and workspaces, from a pool: they "
     "share one memory pool, which reuses memory of finished work, or have one pool each"},
    {"launch.in_flight", SettingGroup::Launch,
     "Number of micro-batches in a step, each with its own splits: all forward passes run first, "
     "then all backward passes. They share the quantized weights and, with dW +=, dW"},
    {"launch.iterations", SettingGroup::Launch,
     "Timed repetitions: the sample count of all displayed times"},
    {"launch.median_within", SettingGroup::Launch,
     "Repeats until the 95 % interval of the median ends within this many percent of it, or until "
     "the time limit. 0 = exactly as many iterations as are set"},
    {"launch.time_limit_s", SettingGroup::Launch,
     "Time limit for repeating until the median is known this precisely"},
    {"launch.deadline_factor", SettingGroup::Launch,
     "A replay that takes this many times the 99th percentile of those before it, and at least 0.5 "
     "s, is a stall: the run ends and reports where it stopped. 0 = no deadline"},
    {"launch.markers", SettingGroup::Launch,
     "A node after every kernel of the graph marks it as done, so that a stall shows where it "
     "happened. Replays then run one at a time"},
    {"measure.trace", SettingGroup::Measurement,
     "What CUPTI records: every node, one record per graph launch, or nothing. Graphs are "
     "instantiated at the trace level under which they are replayed"},
    {"measure.traced_iterations", SettingGroup::Measurement,
     "Number of timed iterations to trace, counted from the first"},
    {"measure.cache", SettingGroup::Measurement,
     "Warm: caches stay as the previous iteration leaves them. Cold: they are flushed between "
     "iterations by writing twice the size of the last-level cache"},
    {"measure.pace", SettingGroup::Measurement,
     "Sustained: back to back, so that the clock drops to what the power limit allows. Burst: 50 "
     "ms idle before each iteration"},
    {"measure.isolated", SettingGroup::Measurement,
     "Times each expert alone on the device, stage by stage"},
    {"measure.stamps", SettingGroup::Measurement,
     "Every tile of the quantize kernels and of our own products records when and on which SM it "
     "ran, in extra launches after the timed ones"},
    {"measure.ceilings", SettingGroup::Measurement,
     "Measures a copy and a dense product of this size: the roofs of the roofline"},
    {"measure.observer", SettingGroup::Measurement,
     "Measures the cost of tracing: times the same step untraced, with graph records and with node "
     "records, interleaved"},
    {"measure.recorded_steps", SettingGroup::Measurement,
     "With a routing file of several steps: measures the output error of this many of them, after "
     "the timed iterations"},
    {"backend", SettingGroup::Backend, "Library or reference that computes the products"},
    {"workspace", SettingGroup::Backend, "Which products of the step share a cuBLASLt workspace"},
    {"streams", SettingGroup::Backend,
     "The experts' matmuls are distributed over this many streams"},
    {"setup_arrays", SettingGroup::Backend,
     "Per matmul: every grouped product has its own pointer and dimension arrays, all filled by "
     "one launch. Shared: one set, filled again before each product"},
    {"int32_splits", SettingGroup::Backend,
     "The router's splits on the device are 32-bit integers; off: 64-bit"},
    {"programmatic_launch", SettingGroup::Backend,
     "Programmatic dependent launch: quantize, bias and offset kernels may start while the "
     "preceding kernel drains, and wait for it before their first access. Results are "
     "bit-identical"},
    {"try_algorithms", SettingGroup::Backend,
     "Times the algorithms that cuBLASLt's heuristic offers, once per shape, and uses the fastest. "
     "Off: the heuristic's first choice"},
    {"cublaslt_library", SettingGroup::Backend,
     "cuBLASLt library that the worker loads; empty = its own"},
};

/// Null: no setting has this field.
constexpr const SettingAbout* find_setting(std::string_view field) {
  const auto* const found = std::ranges::find(kSettings, field, &SettingAbout::field);
  return found == std::end(kSettings) ? nullptr : found;
}

}  // namespace app

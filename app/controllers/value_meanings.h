// What every word that a setting of a request can be means: the one text that
// `expertscope list FIELD` prints, by the enumeration and the word.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

#include "engine/model/fields.h"
#include "engine/model/recipe_traits.h"

namespace app {

struct ValueAbout {
  std::string_view type;  // of the field: "engine::Pace"
  std::string_view word;
  std::string_view meaning;
};

/// All but those of engine::Scaling, which its traits have.
inline constexpr ValueAbout kValues[] = {
    {"engine::RoutingDistribution", "uniform", "Every expert gets the same number of rows"},
    {"engine::RoutingDistribution", "mild", "Equal shares, each up to 20 % smaller or larger"},
    {"engine::RoutingDistribution", "zipf",
     "Expert e gets a share proportional to (e + 1)^-0.7: a few experts get more than the others"},
    {"engine::RoutingDistribution", "heavy",
     "Expert e gets a share proportional to (e + 1)^-1.5: the first gets most of the rows"},
    {"engine::RoutingDistribution", "one-hot", "Expert 0 gets every row"},
    {"engine::RoutingDistribution", "half-empty",
     "Every other expert is empty, the rest get the same number of rows"},
    {"engine::RoutingDistribution", "file",
     "Splits of a routing file (routing.path), step by step"},
    {"engine::RoutingNumbers", "detect", "Found by name, type, dimensions and values"},
    {"engine::RoutingNumbers", "counts",
     "Rows per expert: [experts], [steps, experts] or, as SGLang's logical_count, [steps, layers, "
     "experts]"},
    {"engine::RoutingNumbers", "vllm",
     "Experts of every token: [tokens, top_k], [tokens, layers, top_k] or [sequences, tokens, "
     "layers, top_k]"},
    {"engine::RoutingNumbers", "megatron",
     "Experts of every token, by layer: [tokens, top_k], [layers, tokens, top_k] or [steps, "
     "layers, tokens, top_k]"},
    {"engine::Distribution", "normal",
     "Normal, with standard deviation 1 (X, dY) or 1/sqrt(K) (weights)"},
    {"engine::Distribution", "uniform", "Uniform between -1 and 1 times the same deviation"},
    {"engine::Distribution", "heavy-tailed",
     "Normal, with about every 64th column 50 times larger: outlier channels"},
    {"engine::Distribution", "zeros", "Every element is 0"},
    {"engine::Distribution", "non-finite",
     "Normal, with about one element in 4096 each that is +inf, -inf and NaN"},
    {"kernels::InputType", "bf16", "BF16: 8 bits of exponent, 7 of mantissa"},
    {"kernels::InputType", "fp16", "FP16: 5 bits of exponent, 10 of mantissa"},
    {"kernels::InputType", "fp32", "FP32: 8 bits of exponent, 23 of mantissa"},
    {"kernels::Fp8Format", "e4m3", "4 bits of exponent, 3 of mantissa: up to 448"},
    {"kernels::Fp8Format", "e5m2",
     "5 bits of exponent, 2 of mantissa: up to 57344, with half the precision"},
    {"kernels::AmaxAlgorithm", "most-recent", "The amax of the last step"},
    {"kernels::AmaxAlgorithm", "max", "The largest amax of the history"},
    {"engine::StepKind", "linear", "One grouped product"},
    {"engine::StepKind", "expert-layer", "Up projection, activation and down projection"},
    {"engine::LayerActivation", "swiglu", "silu(gate) * up"},
    {"engine::LayerActivation", "clamped-swiglu",
     "As in gpt-oss: gate * sigmoid(1.702 gate) * (up + 1), gate and up clamped at 7"},
    {"engine::LayerActivation", "geglu", "gelu(gate) * up"},
    {"engine::LayerActivation", "qgeglu", "qgelu(gate) * up"},
    {"engine::LayerActivation", "reglu", "relu(gate) * up"},
    {"engine::LayerActivation", "sreglu", "srelu(gate) * up"},
    {"engine::LayerActivation", "silu", "h * sigmoid(h)"},
    {"engine::LayerActivation", "gelu", "GELU of h, by its tanh approximation"},
    {"engine::LayerActivation", "qgelu", "Quick GELU: h * sigmoid(1.702 h)"},
    {"engine::LayerActivation", "relu", "max(h, 0)"},
    {"engine::LayerActivation", "srelu", "Squared ReLU: max(h, 0)^2"},
    {"engine::StepPasses", "forward", "Y = X W^T"},
    {"engine::StepPasses", "backward",
     "dX = dY W and dW = dY^T X, from what a forward step has saved"},
    {"engine::StepPasses", "forward-backward", "Forward, then backward"},
    {"engine::WeightStorage", "grouped", "One tensor [experts, N, K] with one quantizer"},
    {"engine::WeightStorage", "list", "One tensor [N, K] with its own quantizer per expert"},
    {"engine::LaunchKind", "eager", "Launches every kernel in every step"},
    {"engine::LaunchKind", "graph-replay",
     "Captures the step once as a CUDA graph, then replays it"},
    {"engine::StepGraphs", "one", "One graph for the whole step"},
    {"engine::StepGraphs", "forward-and-backward",
     "One graph for each forward and each backward pass of every micro-batch, as training "
     "frameworks capture them"},
    {"engine::PoolSharing", "shared",
     "All graphs use one memory pool: memory of finished work is reused"},
    {"engine::PoolSharing", "one-per-graph",
     "Each graph has a memory pool of its own; only what forward saves is shared with its "
     "backward"},
    {"engine::TraceLevel", "nodes",
     "Every kernel, copy and memset; the nodes of a graph one by one"},
    {"engine::TraceLevel", "graphs", "One record per graph launch; eager work as with nodes"},
    {"engine::TraceLevel", "off", "Nothing: times come from CUDA events alone"},
    {"engine::CacheMode", "warm", "Caches stay as the previous iteration leaves them"},
    {"engine::CacheMode", "cold",
     "Caches are flushed between iterations by writing twice the size of the last-level cache"},
    {"engine::Pace", "sustained",
     "Iterations run back to back: the clock drops to what the power limit allows"},
    {"engine::Pace", "burst",
     "50 ms idle before each iteration: a cool device at its highest clock"},
    {"engine::GemmBackend", "cublaslt-grouped",
     "CUDA: one grouped cuBLASLt matmul for all experts"},
    {"engine::GemmBackend", "cpu-reference",
     "CPU: one OpenBLAS product per expert, on dequantized operands"},
    {"engine::GemmBackend", "cublaslt-per-expert",
     "CUDA: one cuBLASLt matmul per expert, distributed over streams; a captured graph keeps the "
     "splits of its capture"},
    {"engine::GemmBackend", "expertscope",
     "CUDA: products of FP8 blocks by Expertscope's own kernels, one launch for all experts, "
     "without "
     "a workspace"},
    {"engine::WorkspaceStrategy", "per-matmul", "Every product has a workspace of its own"},
    {"engine::WorkspaceStrategy", "shared", "One workspace for all products of the step"},
    {"engine::WorkspaceStrategy", "per-layout",
     "One workspace for all fprop, one for all dgrad, one for all wgrad"},
    {"engine::WorkspaceStrategy", "per-call",
     "Allocated before every product and freed after it, inside a capture too"},
    {"engine::SetupArrays", "per-matmul",
     "Every grouped product has its own pointer and dimension arrays, all filled by one launch"},
    {"engine::SetupArrays", "shared", "One set of arrays, filled again before each product"},
};

/// Empty: the word has no meaning of its own here.
constexpr std::string_view value_meaning(const engine::Type& type, const engine::EnumName& value) {
  if (type.name == engine::kType<engine::Scaling>.name) {
    return engine::traits_of(static_cast<engine::Scaling>(value.value)).meaning;
  }
  const auto* const found = std::ranges::find_if(kValues, [&](const ValueAbout& one) {
    return one.type == type.name && one.word == value.name;
  });
  return found == std::end(kValues) ? std::string_view() : found->meaning;
}

}  // namespace app

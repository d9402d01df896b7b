// The gates as data: condition -> verdict -> sentence. The first row of an aspect whose condition
// holds decides; every sentence says what blocks it and what to do.
#include "engine/gemm/support.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "engine/model/backend_traits.h"
#include "engine/model/projections.h"
#include "engine/model/recipe_traits.h"

namespace engine {
namespace {

constexpr long kFirstGroupedBlackwell = 130300;
constexpr long kFirstGroupedHopper = 130400;
constexpr long kFirstGroupedNvfp4 = 130400;
constexpr long kFirstPerTensorHopper = 130500;
constexpr long kFirstBlockHopper = 130600;
constexpr long kFirstSafeSharedWorkspace = 130601;

enum class Aspect { Recipe, Workspace, Launch };

struct Question {
  Recipe recipe = {};
  WorkspaceStrategy workspace = WorkspaceStrategy::PerMatmul;
  LaunchMode launch = {};
  GemmBackend backend = GemmBackend::CpuReference;
  int layers = 1;
  DeviceCapability device = {};
  ProductOptions products = {};

  const BackendTraits& does() const { return traits_of(backend); }
  const RecipeTraits& scales() const { return traits_of(recipe); }
  bool own() const { return does().own_products; }
  bool grouped() const { return does().one_launch; }
  /// By cuBLASLt; our own kernels compute all products of the recipes that they take.
  bool cublaslt_grouped() const { return grouped() && !own(); }
  bool on_cuda() const { return does().device; }
  bool forward() const { return products.passes != StepPasses::Backward; }
  bool backward() const { return products.passes != StepPasses::Forward; }
  bool graph() const { return launch.kind == LaunchKind::GraphReplay; }
  /// Grouped products of one step that may share a workspace under the strategy.
  int sharing() const {
    const int passes = (forward() ? 1 : 0) + (backward() ? 2 : 0);
    return traits_of(workspace).users(layers, passes);
  }
  /// FP8 with FP32 scales of blocks.
  bool fp32_blocks() const { return scales().fp32_scales() && scales().block > 0; }
  bool hopper() const { return device.compute_major == 9; }
  bool older_than(long version) const { return device.cublaslt_version < version; }
};

bool two_square_operands(const Question& q) {
  const bool x = q.recipe.square_activation_blocks;
  const bool w = q.recipe.square_weight_blocks;
  const bool dy = q.recipe.square_gradient_blocks;
  return (q.forward() && x && w) || (q.backward() && ((w && dy) || (x && dy)));
}

struct Row {
  Aspect aspect;
  const char* subject;
  const char* condition;
  Support support;
  bool (*applies)(const Question&);
  const char* sentence;  // {compute} and {loaded} are filled in
};

constexpr std::array kRows = {
    Row{Aspect::Recipe, "grouped matmul on CUDA", "no CUDA device", Support::Refused,
        [](const Question& q) { return q.on_cuda() && !q.device.cuda; },
        "The grouped matmul needs a CUDA device and this worker has none; choose the CPU backend"},
    Row{Aspect::Recipe, "FP8 on CUDA", "compute capability below 9.0", Support::Refused,
        [](const Question& q) {
          return q.on_cuda() && q.scales().quantizes() && q.device.compute_major < 9;
        },
        "FP8 products on CUDA need compute capability 9.0 (Hopper) or later and this device has "
        "{compute}; choose the CPU backend"},
    Row{Aspect::Recipe, "grouped matmul on CUDA", "compute capability outside 9.0 to 11.x",
        Support::Refused,
        [](const Question& q) {
          return q.grouped() && (q.device.compute_major < 9 || q.device.compute_major > 11);
        },
        "cuBLASLt's grouped matmul exists for compute capability 9.0 to 11.x and this device has "
        "{compute}; choose the CPU backend"},
    Row{Aspect::Recipe, "grouped matmul on CUDA", "no cuBLASLt library", Support::Refused,
        [](const Question& q) { return q.on_cuda() && q.device.cublaslt_version == 0; },
        "No cuBLASLt library is loaded; name one with the cuBLASLt control or "
        "EXPERTSCOPE_CUBLASLT"},
    Row{Aspect::Recipe, "grouped matmul on Hopper", "cuBLASLt before 13.4", Support::Refused,
        [](const Question& q) {
          return q.cublaslt_grouped() && q.hopper() && q.older_than(kFirstGroupedHopper);
        },
        "The grouped matmul on Hopper needs cuBLASLt 13.4 or later and {loaded} is loaded; choose "
        "a later library (13.6.1 or later runs every recipe)"},
    Row{Aspect::Recipe, "grouped matmul on Blackwell", "cuBLASLt before 13.3", Support::Refused,
        [](const Question& q) {
          return q.cublaslt_grouped() && !q.hopper() && q.older_than(kFirstGroupedBlackwell);
        },
        "The grouped matmul on Blackwell needs cuBLASLt 13.3 or later and {loaded} is loaded; "
        "choose a later library"},
    Row{Aspect::Recipe, "square blocks", "both operands of a product", Support::Refused,
        [](const Question& q) { return q.on_cuda() && q.fp32_blocks() && two_square_operands(q); },
        "A product with FP8 block scaling takes 128x128 blocks for at most one of its operands "
        "(fprop reads X and W, dgrad W and dY, wgrad X and dY); give one of them 1x128 blocks"},
    Row{Aspect::Recipe, "Expertscope's products", "other than of FP8 blocks", Support::Refused,
        [](const Question& q) {
          return q.own() && (!quantizes_in_fp8_lines(q.recipe) || !q.recipe.square_weight_blocks);
        },
        "Expertscope's own kernels compute the products of FP8 block scaling, from 1x128 blocks of "
        "X and dY and 128x128 blocks of W; choose that recipe, or cuBLASLt grouped"},
    Row{Aspect::Recipe, "Expertscope's products", "a list of weights", Support::Refused,
        [](const Question& q) {
          return q.own() && q.products.weight_storage == WeightStorage::List;
        },
        "Expertscope's own kernels read the weights of all experts from one tensor; choose stacked "
        "weights, or cuBLASLt grouped"},
    Row{Aspect::Recipe, "E5M2 on both sides of wgrad", "X and dY in E5M2", Support::Refused,
        [](const Question& q) {
          return q.on_cuda() && !q.own() && q.scales().quantizes() && !q.scales().micro() &&
                 q.backward() && q.recipe.activation_format == Fp8Format::E5m2 &&
                 q.recipe.gradient_format == Fp8Format::E5m2;
        },
        "cuBLASLt multiplies E5M2 with E4M3 only, and wgrad reads X and dY; give one of them E4M3"},
    Row{Aspect::Recipe, "MXFP8 and NVFP4 products on CUDA",
        "before Blackwell, or one matmul per expert", Support::Fallback,
        [](const Question& q) {
          return q.on_cuda() && q.scales().micro() && (q.hopper() || !q.grouped());
        },
        "Products of these operands need Blackwell and the grouped matmul: codes and scales are "
        "real, the products run in BF16 on the dequantized operands. Their times say nothing about "
        "Blackwell"},
    Row{Aspect::Recipe, "NVFP4 products on Blackwell", "cuBLASLt before 13.4", Support::Fallback,
        [](const Question& q) {
          return q.grouped() && q.scales().expert_amax() && q.older_than(kFirstGroupedNvfp4);
        },
        "NVFP4 in the grouped matmul needs cuBLASLt 13.4 or later and {loaded} is loaded: the "
        "products run in BF16 on the dequantized operands; choose a later library"},
    Row{Aspect::Recipe, "NVFP4 products on Blackwell", "a backward pass", Support::Fallback,
        [](const Question& q) { return q.grouped() && q.scales().expert_amax() && q.backward(); },
        "wgrad reads transposed copies of X and dY, and cuBLASLt requires their lines to start at "
        "multiples of 16 bytes, 32 codes; the NVFP4 kernel ends a line at a multiple of 16 codes. "
        "So with a backward pass the products run in BF16 on the dequantized operands; choose "
        "Forward for native products"},
    Row{Aspect::Recipe, "FP8 block scaling", "not Hopper", Support::Refused,
        [](const Question& q) { return q.on_cuda() && q.fp32_blocks() && !q.hopper(); },
        "FP8 block scaling in the grouped matmul is Hopper only and this device has compute "
        "capability {compute}; use MXFP8 on Blackwell, or FP8 per tensor, which runs on both"},
    Row{Aspect::Recipe, "FP8 block scaling", "cuBLASLt before 13.6", Support::Hazardous,
        [](const Question& q) {
          return q.cublaslt_grouped() && q.fp32_blocks() && q.older_than(kFirstBlockHopper);
        },
        "Transformer Engine requires cuBLASLt 13.6 or later for FP8 block scaling in the grouped "
        "matmul and {loaded} is loaded. 13.5.1.27 was measured to be correct with one workspace "
        "per matmul, and wrong with a shared one"},
    Row{Aspect::Recipe, "FP8 block scaling", "E5M2 activations", Support::Refused,
        [](const Question& q) {
          return q.on_cuda() && !q.own() && q.fp32_blocks() &&
                 q.recipe.activation_format == Fp8Format::E5m2;
        },
        "Block-scaled E5M2 activations have not been verified with cuBLASLt's grouped matmul; "
        "choose E4M3, FP8 per tensor, or the CPU backend"},
    Row{Aspect::Recipe, "FP8 per-tensor scaling on Hopper", "cuBLASLt before 13.5",
        Support::Refused,
        [](const Question& q) {
          return q.grouped() && q.hopper() && q.scales().per_tensor() &&
                 q.older_than(kFirstPerTensorHopper);
        },
        "cuBLASLt has no grouped FP8 per-tensor algorithm for Hopper before 13.5 and {loaded} is "
        "loaded; choose a later library, or BF16"},
    Row{Aspect::Workspace, "matmul workspace", "CPU backend", Support::Refused,
        [](const Question& q) { return !q.on_cuda(); },
        "OpenBLAS needs no workspace: choose a cuBLASLt backend"},
    Row{Aspect::Workspace, "a workspace of several products",
        "FP8 block scaling, shared, per layout or per call, graph replay, cuBLASLt before 13.6.1",
        Support::Hazardous,
        [](const Question& q) {
          return q.cublaslt_grouped() && q.sharing() >= 2 && q.fp32_blocks() && q.graph() &&
                 q.device.cublaslt_version != 0 && q.older_than(kFirstSafeSharedWorkspace);
        },
        "Products of one captured graph that share a workspace can be wrong from replay 2 on, or "
        "hang, with cuBLASLt before 13.6.1.10 ({loaded} is loaded): stale descriptors stay in the "
        "workspace, and which shapes fail varies. A workspace per layout is shared by layers, and "
        "one per call is memory that the graph reuses. Use one workspace per matmul, or load "
        "13.6.1.10 or "
        "later"},
    Row{Aspect::Launch, "graph replay", "CPU backend", Support::Refused,
        [](const Question& q) { return q.launch.kind == LaunchKind::GraphReplay && !q.on_cuda(); },
        "CUDA graphs need a CUDA device; the CPU backend runs every iteration eagerly"},
    Row{Aspect::Launch, "graph replay", "no CUDA device", Support::Refused,
        [](const Question& q) {
          return q.launch.kind == LaunchKind::GraphReplay && !q.device.cuda;
        },
        "CUDA graphs need a CUDA device and this worker has none; choose eager launches"},
    Row{Aspect::Launch, "graph replay of the per-expert backend", "always", Support::Hazardous,
        [](const Question& q) { return q.graph() && !q.does().follows_splits; },
        "A captured step of the per-expert backend keeps the splits and addresses of its capture: "
        "replayed after the routing has changed, it still computes the old routing. The grouped "
        "backend "
        "follows new splits"},
};

std::string fill(const Row& row, const DeviceCapability& device) {
  const std::string compute =
      device.cuda ? fmt::format("{}.{}", device.compute_major, device.compute_minor) : "none";
  return fmt::format(fmt::runtime(row.sentence), fmt::arg("compute", compute),
                     fmt::arg("loaded", cublaslt_version_text(device.cublaslt_version)));
}

Verdict answer(Aspect aspect, const Question& question) {
  for (const Row& row : kRows) {
    if (row.aspect == aspect && row.applies(question)) {
      return {.support = row.support, .sentence = fill(row, question.device)};
    }
  }
  return {};
}

/// The first one if both are equally severe.
Verdict worse(Verdict a, Verdict b) {
  const auto severity = [](const Verdict& verdict) {
    constexpr std::array kRising = {Support::Supported, Support::Fallback, Support::Hazardous,
                                    Support::Refused};
    return std::ranges::find(kRising, verdict.support) - kRising.begin();
  };
  return severity(b) > severity(a) ? std::move(b) : std::move(a);
}

/// Three numbers with dots in between; missing ones are 0. From a worker or a file: bounded.
std::array<int, 3> version_numbers(const std::string& version) {
  constexpr int kMost = 9999;
  std::array<int, 3> numbers{};
  const char* at = version.data();
  const char* const end = at + version.size();
  for (int& number : numbers) {
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc()) break;
    number = std::clamp(number, 0, kMost);
    if (next == end || *next != '.') break;
    at = next + 1;
  }
  return numbers;
}

}  // namespace

Verdict recipe_support(const Recipe& recipe, GemmBackend backend, const DeviceCapability& device,
                       const ProductOptions& products) {
  return answer(Aspect::Recipe,
                {.recipe = recipe, .backend = backend, .device = device, .products = products});
}

Verdict recipe_support(const RunRequest& request, const DeviceCapability& device) {
  Verdict worst;
  for (const StepPart& part : step_parts(request)) {
    worst = worse(std::move(worst), recipe_support(part.request.recipe, part.request.backend,
                                                   device, part.request.products));
  }
  return worst;
}

Verdict workspace_support(WorkspaceStrategy strategy, const RunRequest& request,
                          const DeviceCapability& device) {
  Verdict worst;
  for (const StepPart& part : step_parts(request)) {
    worst = worse(std::move(worst),
                  answer(Aspect::Workspace, {.recipe = part.request.recipe,
                                             .workspace = strategy,
                                             .launch = request.launch,
                                             .backend = request.backend,
                                             .layers = static_cast<int>(linear_layers(request)),
                                             .device = device,
                                             .products = request.products}));
  }
  return worst;
}

Verdict launch_support(const LaunchMode& launch, GemmBackend backend,
                       const DeviceCapability& device) {
  return answer(Aspect::Launch, {.launch = launch, .backend = backend, .device = device});
}

std::vector<Gate> list_gates(const DeviceCapability& device) {
  std::vector<Gate> gates;
  for (const Row& row : kRows) {
    gates.push_back({.subject = row.subject,
                     .condition = row.condition,
                     .support = row.support,
                     .sentence = fill(row, device)});
  }
  return gates;
}

DeviceCapability capability_of(const DeviceFacts& device, bool cuda) {
  const std::array compute = version_numbers(device.compute_capability);
  const std::array library = version_numbers(device.cublaslt_version);
  return {.cuda = cuda,
          .compute_major = compute[0],
          .compute_minor = compute[1],
          .cublaslt_version = library[0] * 10000L + library[1] * 100L + library[2]};
}

bool is_emulated(const RunResult& result, const RunRequest& linear) {
  if (result.emulated.empty()) return false;
  const Verdict verdict = recipe_support(
      linear.recipe, linear.backend, capability_of(result.device, traits_of(linear.backend).device),
      linear.products);
  return verdict.support == Support::Fallback;
}

std::string cublaslt_version_text(long version) {
  if (version <= 0) return "none";
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace engine

// The backends and what each can do, and the workspace strategies and how each shares memory. Code
// asks these traits; nothing compares with an enumerator (tests/unit/layering).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace engine {

enum class GemmBackend {
  CublasLtGrouped,    // CUDA: one grouped matmul for all experts
  CpuReference,       // CPU: per-expert loop through OpenBLAS on dequantized operands
  CublasLtPerExpert,  // CUDA: one matmul per expert, spread over several streams; splits come from
                      // the host, so a captured graph keeps those of its capture
  Expertscope,        // CUDA: products of FP8 blocks by our own kernels (kernels/product), each in
                      // one launch for all experts
};
constexpr auto enum_names(GemmBackend) {
  return std::to_array<std::string_view>(
      {"cublaslt-grouped", "cpu-reference", "cublaslt-per-expert", "expertscope"});
}

struct BackendTraits {
  std::string_view label;      // in the window
  bool device = false;         // needs a CUDA device; else it runs on the host
  bool one_launch = false;     // one product of all experts in one launch; else one per expert
  bool follows_splits = true;  // a captured step follows new splits when it is replayed
  bool programmatic = false;   // its step can be launched programmatically
  bool own_products = false;   // Expertscope's kernels compute the products, without a workspace
};

inline constexpr std::array<BackendTraits, enum_names(GemmBackend{}).size()> kBackendTraits = {{
    {.label = "cuBLASLt grouped", .device = true, .one_launch = true, .programmatic = true},
    {.label = "CPU reference"},
    {.label = "cuBLASLt per expert", .device = true, .follows_splits = false},
    {.label = "Expertscope",
     .device = true,
     .one_launch = true,
     .programmatic = true,
     .own_products = true},
}};

constexpr const BackendTraits& traits_of(GemmBackend backend) {
  return kBackendTraits[static_cast<std::size_t>(backend)];
}

/// Which memory cuBLASLt works in. For hazards see engine/gemm/support.
enum class WorkspaceStrategy {
  PerMatmul,  // every product of the step owns one: always right
  Shared,     // one for all products of the step
  PerLayout,  // one for the products of each operand layout (fprop TN, dgrad NN, wgrad NT)
  PerCall,    // allocated before and freed after every product, inside a capture too
};
constexpr auto enum_names(WorkspaceStrategy) {
  return std::to_array<std::string_view>({"per-matmul", "shared", "per-layout", "per-call"});
}

/// Products that share a workspace.
enum class WorkspaceSharing : std::uint8_t {
  None,        // every product of the step has its own
  SameLayout,  // those of every layer with the same operand layout
  All,
};

struct WorkspaceTraits {
  std::string_view label;  // in the window
  WorkspaceSharing sharing = WorkspaceSharing::None;
  bool per_call = false;  // allocated before each product and freed after it

  /// Most products of a step that use the same memory.
  constexpr int users(int layers, int products_per_layer) const {
    switch (sharing) {
      case WorkspaceSharing::None:
        return 1;
      case WorkspaceSharing::SameLayout:
        return layers;
      case WorkspaceSharing::All:
        break;
    }
    return layers * products_per_layer;
  }
  /// Buffers that a step holds; `layouts`: operand layouts of its products.
  constexpr int buffers(int products, int layouts) const {
    if (per_call) return 0;
    switch (sharing) {
      case WorkspaceSharing::None:
        return products;
      case WorkspaceSharing::SameLayout:
        return layouts;
      case WorkspaceSharing::All:
        break;
    }
    return 1;
  }
  /// The one of product number `product`, whose operand layout is number `layout`.
  constexpr int buffer_of(int product, int layout) const {
    switch (sharing) {
      case WorkspaceSharing::None:
        return product;
      case WorkspaceSharing::SameLayout:
        return layout;
      case WorkspaceSharing::All:
        break;
    }
    return 0;
  }
};

inline constexpr std::array<WorkspaceTraits, enum_names(WorkspaceStrategy{}).size()>
    kWorkspaceTraits = {{
        {.label = "Per matmul"},
        {.label = "Shared", .sharing = WorkspaceSharing::All},
        {.label = "Per layout", .sharing = WorkspaceSharing::SameLayout},
        {.label = "Per call", .sharing = WorkspaceSharing::All, .per_call = true},
    }};

constexpr const WorkspaceTraits& traits_of(WorkspaceStrategy strategy) {
  return kWorkspaceTraits[static_cast<std::size_t>(strategy)];
}

// What version and architecture gates depend on.

/// Versions as cublasLtGetVersion() gives them: 13.10.0 -> 131000, 0 =
/// not loaded. The fourth part of a package version (13.6.2.16) cannot be seen.
struct DeviceCapability {
  bool cuda = false;
  int compute_major = 0;
  int compute_minor = 0;
  long cublaslt_version = 0;
};

}  // namespace engine

// One grouped product through cuBLASLt: Y_g[m_g, n] = X_g[m_g, k] * W_g[n, k]^T for all groups in
// one launch. Everything that depends on the splits is read on the device at launch time, so a
// captured launch follows new splits.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/gemm/cublaslt_library.h"
#include "engine/model/error.h"
#include "engine/model/run_request.h"

namespace engine {

/// Bytes of a cuBLASLt workspace; what the heuristic may use and every launch gets.
inline constexpr std::int64_t kWorkspaceBytes = std::int64_t{32} << 20;

/// All pointers are device memory that outlives the matmul; pointer arrays start 16-byte aligned
/// (cuBLASLt's demand).
struct GroupedMatmulConfig {
  int num_groups = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t average_rows = 1;  // hint for the heuristic: rows of X over num_groups
  Scaling scaling = Scaling::None;
  Fp8Format activation_format = Fp8Format::E4m3;
  bool fast_accumulation = false;  // FP8 only
  bool fp32_output = false;        // else BF16

  const std::int32_t* n_dims = nullptr;      // [num_groups], all n
  const std::int32_t* k_dims = nullptr;      // [num_groups], all k
  const std::int32_t* rows = nullptr;        // [num_groups], the splits
  void* const* weights = nullptr;            // [num_groups] W_g, row-major [n, k]
  void* const* activations = nullptr;        // [num_groups] X_g, row-major [m_g, k]
  void* const* outputs = nullptr;            // [num_groups] Y_g, row-major [m_g, n]
  void* const* weight_scales = nullptr;      // [num_groups] inverse scales; FP8 only
  void* const* activation_scales = nullptr;  // [num_groups] inverse scales; FP8 only
  const float* alpha = nullptr;              // 1, on the device
  const float* beta = nullptr;               // 0, on the device
};

class GroupedMatmul {
 public:
  /// Builds the descriptors and asks the heuristic; with `like`, takes over the algorithm of a
  /// product of the same shape and recipe. Unsupported when cuBLASLt has no algorithm.
  static Result<GroupedMatmul> create(std::shared_ptr<const CublasLt> library,
                                      const GroupedMatmulConfig& config,
                                      const GroupedMatmul* like = nullptr);

  /// Enqueues only. `workspace` has kWorkspaceBytes.
  Status launch(void* workspace, cudaStream_t stream) const;

 private:
  // Shared, because their deleters hold on to the library that made them.
  using Desc = std::shared_ptr<cublasLtMatmulDescOpaque_t>;
  using Layout = std::shared_ptr<cublasLtMatrixLayoutOpaque_t>;

  GroupedMatmul() = default;
  Status make_desc();
  Status make_layouts();
  Status choose_algorithm();

  std::shared_ptr<const CublasLt> library_;
  GroupedMatmulConfig config_;
  Desc desc_;
  Layout weights_;
  Layout activations_;
  Layout outputs_;
  cublasLtMatmulAlgo_t algorithm_{};
};

}  // namespace engine

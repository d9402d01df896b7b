// One grouped product D_g = op(A_g) op(B_g) for all groups, whichever backend computes it. cuBLAS
// is column-major: a row-major [rows, columns] tensor is its [columns, rows] matrix.
//
//   pass    D (col-major)  A                 B                  reduction
//   fprop   Y   n x m      W  k x n, T       X  k x m, N        k
//   dgrad   dX  k x m      W  k x n, N       dY n x m, N        n
//   wgrad   dW  k x n      X  k x m, N       dY n x m, T        m
//
// FP8 on Hopper has TN only: an operand that the table reads with N as A, or with T as B, comes
// from its transposed columnwise copy and the other op.
#pragma once

#include <library_types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/device/check.h"
#include "engine/model/error.h"
#include "engine/model/run_request.h"
#include "engine/model/run_result.h"
#include "engine/observe/step_observer.h"
#include "kernels/common/types.h"

namespace engine {

/// Bytes of a cuBLASLt workspace; what the heuristic may use and every launch gets.
inline constexpr std::int64_t kWorkspaceBytes = std::int64_t{32} << 20;

enum class MatrixScaling { None, PerTensor, Block1x128, Block128x128, Mx1x32, Nv1x16 };

/// One operand or the output, column-major. All pointers are device memory that outlives the
/// product; pointer arrays start 16-byte aligned (cuBLASLt's demand).
struct ProductMatrix {
  cudaDataType_t type = CUDA_R_16BF;
  bool transposed = false;  // op T
  MatrixScaling scaling = MatrixScaling::None;
  const std::int32_t* rows = nullptr;     // [num_groups]; the leading dimension too
  const std::int32_t* columns = nullptr;  // [num_groups]
  void* const* values = nullptr;          // [num_groups]
  void* const* scales = nullptr;          // [num_groups], inverse scales; null without scaling
};

/// The same on the host, for backends with one launch per group.
struct HostMatrix {
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> columns;
  std::vector<void*> values;
  std::vector<void*> scales;  // empty without scaling
};

struct ProductConfig {
  Product product = Product::Fprop;
  std::string recipe;  // for display: "FP8 block"
  int num_groups = 0;
  ProductMatrix a;
  ProductMatrix b;
  ProductMatrix d;
  /// Hints for the heuristic: averages over the groups.
  std::int64_t average_rows = 1;     // of D
  std::int64_t average_columns = 1;  // of D
  std::int64_t average_reduction = 1;
  bool fast_accumulation = false;  // FP8 only
  const float* alpha = nullptr;    // on the device
  const float* beta = nullptr;     // on the device: 0 overwrites D, 1 adds to it
  /// Blackwell needs one scalar per group: device arrays of pointers. Null = the scalars above
  /// serve all groups, as Hopper needs.
  void* const* alphas = nullptr;
  void* const* betas = nullptr;
};

/// Result of timing the candidates of one product.
struct AlgorithmTrial {
  int candidates = 0;  // that were timed
  int chosen = 0;      // index in the heuristic's order
  float first_us = 0;  // median of the heuristic's first
  float chosen_us = 0;
};

/// Receives what a product launches; backends with one launch per expert name the expert.
struct LaunchLabel {
  StepObserver& observer;
  WorkTag tag;
};

class GroupedProduct {
 public:
  virtual ~GroupedProduct() = default;
  /// Enqueues only. `workspace` has kWorkspaceBytes.
  virtual Status launch(void* workspace, cudaStream_t stream, const LaunchLabel& label) const = 0;
  /// Launches one expert alone on `stream`; does nothing for an expert without rows. Unsupported if
  /// one launch serves all experts.
  virtual Status launch_expert(int expert, void* workspace, cudaStream_t stream) const = 0;
  /// Tiles of a launch that leave a stamp each; 0 = launch_stamped() is Unsupported.
  virtual std::int64_t stamped_tiles() const { return 0; }
  virtual Status launch_stamped(kernels::StampBuffer stamps, cudaStream_t stream) const {
    static_cast<void>(stamps);
    static_cast<void>(stream);
    return Error{ErrorCode::Unsupported, "The tiles of this product leave no stamps"};
  }
  /// Times the candidates on the current operands (D is overwritten) and keeps the fastest.
  /// `splits` [num_groups] are those on the device. Remembered by shape and splits: a later product
  /// with the same ones reuses the result. Synchronises. A backend without candidates does nothing.
  virtual Result<AlgorithmTrial> try_candidates(std::span<const std::int64_t> splits,
                                                void* workspace, cudaStream_t stream) = 0;
};

}  // namespace engine

// cuBLASLt's grouped products, and the trial of their algorithms.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "engine/gemm/cublaslt_library.h"
#include "engine/gemm/grouped_product.h"

namespace engine {

/// All groups in one launch. Everything that depends on the splits is read on the device at launch
/// time, so a captured launch follows new splits. Builds the descriptors and asks the heuristic.
/// Unsupported when cuBLASLt has no algorithm.
Result<std::unique_ptr<GroupedProduct>> make_cublaslt_grouped(
    std::shared_ptr<const CublasLt> library, const ProductConfig& config);

struct PerExpertConfig {
  ProductConfig product;  // its device arrays are not read; a, b and d have their values below
  HostMatrix a;
  HostMatrix b;
  HostMatrix d;
  int streams = 4;
  float beta = 0.0F;  // as product.beta, on the host
};

/// One matmul per expert, spread over several streams that fork from the caller's and join it
/// again. Dimensions and addresses come from the host: a captured launch keeps those of its
/// capture. Each stream has its own workspace. Experts without rows launch nothing, except that a
/// wgrad with beta 0 clears their D.
Result<std::unique_ptr<GroupedProduct>> make_cublaslt_per_expert(
    std::shared_ptr<const CublasLt> library, const PerExpertConfig& config);

/// The candidates of a product are timed once per key (shape, splits, types) and process; later
/// products with that key reuse the result. The remembered trial of `key`, or a new one:
/// `launch(i)` enqueues candidate i on `stream`. A candidate that fails to launch is skipped; an
/// error if all fail. Synchronises.
Result<AlgorithmTrial> remembered_trial(const std::string& key, int candidates, cudaStream_t stream,
                                        const std::function<Status(int)>& launch);

}  // namespace engine

// All groups in one cuBLASLt launch. Everything that depends on the splits is read on the device at
// launch time, so a captured launch follows new splits.
#pragma once

#include <memory>

#include "engine/gemm/cublaslt_library.h"
#include "engine/gemm/grouped_product.h"

namespace engine {

/// Builds the descriptors and asks the heuristic. Unsupported when cuBLASLt has no algorithm.
Result<std::unique_ptr<GroupedProduct>> make_cublaslt_grouped(
    std::shared_ptr<const CublasLt> library, const ProductConfig& config);

}  // namespace engine

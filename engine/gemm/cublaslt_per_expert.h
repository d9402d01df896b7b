// A cuBLASLt matmul an expert, dealt in turns to several streams that fork from the caller's and
// join it again. Dimensions and addresses come from the host: a captured launch keeps those it was
// made for.
#pragma once

#include <memory>
#include <span>

#include "engine/gemm/cublaslt_library.h"
#include "engine/gemm/grouped_product.h"

namespace engine {

struct PerExpertConfig {
  ProductConfig product;  // its device arrays are not read; a, b and d have their values below
  HostMatrix a;
  HostMatrix b;
  HostMatrix d;
  int streams = 4;
  float beta = 0.0F;  // as product.beta, on the host
};

/// Each stream has a workspace of its own. Experts without rows launch nothing, except that a wgrad
/// with beta 0 clears their D.
Result<std::unique_ptr<GroupedProduct>> make_cublaslt_per_expert(
    std::shared_ptr<const CublasLt> library, const PerExpertConfig& config);

}  // namespace engine

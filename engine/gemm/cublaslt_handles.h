// Owners of cuBLASLt's descriptors, and the parts of a description that the grouped and the
// per-expert backend share.
#pragma once

#include <memory>

#include "engine/gemm/cublaslt_library.h"
#include "engine/gemm/grouped_product.h"

namespace engine {

// Shared, because their deleters hold on to the library that made them.
using MatmulDesc = std::shared_ptr<cublasLtMatmulDescOpaque_t>;
using MatrixLayout = std::shared_ptr<cublasLtMatrixLayoutOpaque_t>;
using MatmulPreference = std::shared_ptr<cublasLtMatmulPreferenceOpaque_t>;

/// Sets attributes and remembers the first failure.
template <class Handle, class Attribute>
class AttributeSetter {
 public:
  using Function = cublasStatus_t (*)(Handle, Attribute, const void*, size_t);
  AttributeSetter(Function function, Handle handle) : function_(function), handle_(handle) {}
  template <class T>
  void operator()(Attribute attribute, const T& value) {
    const cublasStatus_t status = function_(handle_, attribute, &value, sizeof(value));
    if (failed_ == CUBLAS_STATUS_SUCCESS) failed_ = status;
  }
  cublasStatus_t failed() const { return failed_; }

 private:
  Function function_;
  Handle handle_;
  cublasStatus_t failed_ = CUBLAS_STATUS_SUCCESS;
};

using DescAttributes = AttributeSetter<cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t>;
using PreferenceAttributes =
    AttributeSetter<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t>;

/// A description with the ops and, for FP8, the kind of accumulation of `config`.
Result<MatmulDesc> make_matmul_desc(const std::shared_ptr<const CublasLt>& library,
                                    const ProductConfig& config);
Result<MatmulPreference> make_matmul_preference(const std::shared_ptr<const CublasLt>& library);

/// How cuBLASLt calls a scaling; `per_tensor` is its name for one scale a matrix.
cublasLtMatmulMatrixScale_t scale_mode(MatrixScaling scaling,
                                       cublasLtMatmulMatrixScale_t per_tensor);

/// "The FP8 block dgrad".
std::string describe(const ProductConfig& config);

}  // namespace engine

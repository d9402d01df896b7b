// cuBLASLt, loaded at run time from a chosen path, so that versions can be compared in one worker.
// A library stays loaded until the process ends: its kernels may still sit in captured graphs.
#pragma once

#include <cublasLt.h>
#include <memory>
#include <string>

#include "engine/gemm/grouped_product.h"
#include "engine/model/error.h"

namespace engine {

class CublasLt {
 public:
  /// Loads `path`, or the first library of find_cublaslt_libraries() that loads when empty, and
  /// makes a handle on the current device. A path without a slash goes through the loader's own
  /// search, any other is checked (library_file.h). The error lists what was tried. The permission
  /// to load this path is checked earlier, in app/worker/engine_loop.h.
  static Result<std::shared_ptr<const CublasLt>> load(const std::string& path);
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  long version() const { return version_; }  // 131000 = 13.10.0
  const std::string& path() const { return path_; }
  cublasLtHandle_t handle() const { return handle_; }
  /// "<doing> failed: <cuBLASLt's text> (cuBLASLt 13.10.0)".
  Error error(cublasStatus_t status, const std::string& doing) const;

  decltype(&::cublasLtCreate) create = nullptr;
  decltype(&::cublasLtDestroy) destroy = nullptr;
  decltype(&::cublasLtGetVersion) get_version = nullptr;
  decltype(&::cublasLtGetStatusString) get_status_string = nullptr;
  decltype(&::cublasLtMatmul) matmul = nullptr;
  decltype(&::cublasLtMatmulDescCreate) matmul_desc_create = nullptr;
  decltype(&::cublasLtMatmulDescDestroy) matmul_desc_destroy = nullptr;
  decltype(&::cublasLtMatmulDescSetAttribute) matmul_desc_set_attribute = nullptr;
  decltype(&::cublasLtMatrixLayoutCreate) matrix_layout_create = nullptr;
  decltype(&::cublasLtMatrixLayoutDestroy) matrix_layout_destroy = nullptr;
  decltype(&::cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&::cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&::cublasLtMatmulPreferenceSetAttribute) preference_set_attribute = nullptr;
  decltype(&::cublasLtMatmulAlgoGetHeuristic) algo_get_heuristic = nullptr;
  /// Null in libraries that have no grouped layouts (before 13.3); the gates refuse those.
  decltype(&::cublasLtGroupedMatrixLayoutCreate) grouped_matrix_layout_create = nullptr;

 private:
  CublasLt() = default;
  static Result<std::shared_ptr<const CublasLt>> open(const std::string& path);

  std::string path_;
  long version_ = 0;
  cublasLtHandle_t handle_ = nullptr;
};

// Owners of cuBLASLt's descriptors, and the parts of a description that the grouped and the
// per-expert backend share.

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

/// cuBLASLt's name for a scaling; `per_tensor` is its name for one scale per matrix.
cublasLtMatmulMatrixScale_t scale_mode(MatrixScaling scaling,
                                       cublasLtMatmulMatrixScale_t per_tensor);

/// "The FP8 block dgrad".
std::string describe(const ProductConfig& config);

}  // namespace engine

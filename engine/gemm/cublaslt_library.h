// cuBLASLt, loaded at run time from a chosen path, so that versions can be compared in one worker.
// A library stays loaded until the process ends: its kernels may still sit in captured graphs.
#pragma once

#include <cublasLt.h>

#include <memory>
#include <string>

#include "engine/model/error.h"

namespace engine {

class CublasLt {
 public:
  /// Loads `path`, or the first library of find_cublaslt_libraries() that loads when empty, and
  /// makes a handle on the current device. A path without a slash goes through the loader's own
  /// search, any other is checked (library_file.h). The error lists what was tried. Whether this
  /// path may be loaded at all is decided before: app/worker/engine_loop.h.
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

}  // namespace engine

#include "engine/gemm/cublaslt_handles.h"

#include <fmt/format.h>

namespace engine {

cublasLtMatmulMatrixScale_t scale_mode(MatrixScaling scaling,
                                       cublasLtMatmulMatrixScale_t per_tensor) {
  switch (scaling) {
    case MatrixScaling::Block1x128:
      return CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
    case MatrixScaling::Block128x128:
      return CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
    case MatrixScaling::Mx1x32:
      return CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0;
    case MatrixScaling::Nv1x16:
      return CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3;
    case MatrixScaling::None:
    case MatrixScaling::PerTensor:
      break;
  }
  return per_tensor;
}

std::string describe(const ProductConfig& config) {
  return fmt::format("The {} {}{}", config.recipe, name_of(config.product),
                     config.fast_accumulation ? " with fast accumulation" : "");
}

Result<MatmulDesc> make_matmul_desc(const std::shared_ptr<const CublasLt>& library,
                                    const ProductConfig& config) {
  cublasLtMatmulDesc_t raw = nullptr;
  if (const auto status = library->matmul_desc_create(&raw, CUBLAS_COMPUTE_32F, CUDA_R_32F);
      status != CUBLAS_STATUS_SUCCESS) {
    return library->error(status, "Creating a matmul descriptor");
  }
  MatmulDesc desc(raw, [library](auto* made) { (void)library->matmul_desc_destroy(made); });
  DescAttributes set(library->matmul_desc_set_attribute, raw);
  set(CUBLASLT_MATMUL_DESC_TRANSA, config.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_TRANSB, config.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLASLT_POINTER_MODE_DEVICE);
  if (config.a.scaling != MatrixScaling::None) {
    set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<std::int8_t>(config.fast_accumulation));
  }
  if (set.failed() != CUBLAS_STATUS_SUCCESS) {
    return library->error(set.failed(), describe(config) + ": its description");
  }
  return desc;
}

Result<MatmulPreference> make_matmul_preference(const std::shared_ptr<const CublasLt>& library) {
  cublasLtMatmulPreference_t raw = nullptr;
  if (const auto status = library->preference_create(&raw); status != CUBLAS_STATUS_SUCCESS) {
    return library->error(status, "Creating a matmul preference");
  }
  MatmulPreference preference(raw,
                              [library](auto* made) { (void)library->preference_destroy(made); });
  PreferenceAttributes set(library->preference_set_attribute, raw);
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
  if (set.failed() != CUBLAS_STATUS_SUCCESS) {
    return library->error(set.failed(), "Setting the matmul preference");
  }
  return preference;
}

}  // namespace engine

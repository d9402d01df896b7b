// cuBLASLt is column-major: a row-major [rows, columns] is its [columns, rows]. So A = W as k x n,
// transposed; B = X as k x m; D = Y as n x m; every leading dimension equals the first dimension.
#include "engine/gemm/grouped_matmul.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "engine/gemm/support.h"

namespace engine {
namespace {

const char* recipe_name(const GroupedMatmulConfig& config) {
  switch (config.scaling) {
    case Scaling::None:
      return config.fp32_output ? "BF16 with FP32 output" : "BF16";
    case Scaling::PerTensorCurrent:
      return config.fast_accumulation ? "FP8 per tensor with fast accumulation"
                                      : "FP8 per tensor with split accumulation";
    case Scaling::Block:
      return "FP8 block";
    case Scaling::PerTensorDelayed:
      return "FP8 per tensor with delayed scaling";
    case Scaling::Mxfp8:
      return "MXFP8";
    case Scaling::Nvfp4:
      return "NVFP4";
  }
  return "unknown";
}

cudaDataType_t fp8_type(Fp8Format format) {
  return format == Fp8Format::E4m3 ? CUDA_R_8F_E4M3 : CUDA_R_8F_E5M2;
}

}  // namespace

Result<GroupedMatmul> GroupedMatmul::create(std::shared_ptr<const CublasLt> library,
                                            const GroupedMatmulConfig& config,
                                            const GroupedMatmul* like) {
  if (library->grouped_matrix_layout_create == nullptr) {
    return Error{
        ErrorCode::Unsupported,
        fmt::format("{} has no grouped matmul; choose cuBLASLt 13.4 or later", library->path())};
  }
  GroupedMatmul made;
  made.library_ = std::move(library);
  made.config_ = config;
  if (const Status status = made.make_desc(); !status.ok()) return status.error();
  if (const Status status = made.make_layouts(); !status.ok()) return status.error();
  if (like != nullptr) {
    made.algorithm_ = like->algorithm_;
  } else if (const Status status = made.choose_algorithm(); !status.ok()) {
    return status.error();
  }
  return made;
}

Status GroupedMatmul::make_desc() {
  const CublasLt& lt = *library_;
  cublasLtMatmulDesc_t raw = nullptr;
  if (const auto status = lt.matmul_desc_create(&raw, CUBLAS_COMPUTE_32F, CUDA_R_32F);
      status != CUBLAS_STATUS_SUCCESS) {
    return lt.error(status, "Creating a matmul descriptor");
  }
  desc_ = Desc(raw, [library = library_](auto* desc) { (void)library->matmul_desc_destroy(desc); });
  cublasStatus_t failed = CUBLAS_STATUS_SUCCESS;
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    const auto status = lt.matmul_desc_set_attribute(raw, attribute, &value, sizeof(value));
    if (failed == CUBLAS_STATUS_SUCCESS) failed = status;
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  set(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLASLT_POINTER_MODE_DEVICE);
  if (config_.scaling != Scaling::None) {
    set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<std::int8_t>(config_.fast_accumulation));
    const bool block = config_.scaling == Scaling::Block;
    set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, block
                                               ? CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F
                                               : CUBLASLT_MATMUL_MATRIX_SCALE_PER_BATCH_SCALAR_32F);
    set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, block
                                               ? CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F
                                               : CUBLASLT_MATMUL_MATRIX_SCALE_PER_BATCH_SCALAR_32F);
    // Grouped: the attribute holds the device array of the groups' scale pointers.
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, config_.weight_scales);
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, config_.activation_scales);
  }
  if (failed != CUBLAS_STATUS_SUCCESS) {
    return lt.error(failed, fmt::format("Describing a grouped {} matmul", recipe_name(config_)));
  }
  return {};
}

Status GroupedMatmul::make_layouts() {
  const CublasLt& lt = *library_;
  const bool fp8 = config_.scaling != Scaling::None;
  const cudaDataType_t weight_type = fp8 ? CUDA_R_8F_E4M3 : CUDA_R_16BF;
  const cudaDataType_t activation_type = fp8 ? fp8_type(config_.activation_format) : CUDA_R_16BF;
  const cudaDataType_t output_type = config_.fp32_output ? CUDA_R_32F : CUDA_R_16BF;
  const auto make = [&](Layout& layout, cudaDataType_t type, const std::int32_t* rows,
                        const std::int32_t* columns) {
    cublasLtMatrixLayout_t raw = nullptr;
    const auto status =
        lt.grouped_matrix_layout_create(&raw, type, config_.num_groups, rows, columns, rows);
    if (status == CUBLAS_STATUS_SUCCESS) {
      layout = Layout(
          raw, [library = library_](auto* made) { (void)library->matrix_layout_destroy(made); });
    }
    return status;
  };
  for (const cublasStatus_t status :
       {make(weights_, weight_type, config_.k_dims, config_.n_dims),
        make(activations_, activation_type, config_.k_dims, config_.rows),
        make(outputs_, output_type, config_.n_dims, config_.rows)}) {
    if (status != CUBLAS_STATUS_SUCCESS) return lt.error(status, "Creating a grouped layout");
  }
  return {};
}

Status GroupedMatmul::choose_algorithm() {
  const CublasLt& lt = *library_;
  cublasLtMatmulPreference_t raw = nullptr;
  if (const auto status = lt.preference_create(&raw); status != CUBLAS_STATUS_SUCCESS) {
    return lt.error(status, "Creating a matmul preference");
  }
  const std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, decltype(lt.preference_destroy)>
      preference(raw, lt.preference_destroy);
  cublasStatus_t failed = CUBLAS_STATUS_SUCCESS;
  // 8 bytes each: the library refuses 4-byte values although its header speaks of uint32.
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, std::int64_t value) {
    const auto status = lt.preference_set_attribute(raw, attribute, &value, sizeof(value));
    if (failed == CUBLAS_STATUS_SUCCESS) failed = status;
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
  set(CUBLASLT_MATMUL_PREF_GROUPED_DESC_D_AVERAGE_ROWS, config_.n);
  set(CUBLASLT_MATMUL_PREF_GROUPED_DESC_D_AVERAGE_COLS,
      std::max<std::int64_t>(config_.average_rows, 1));
  set(CUBLASLT_MATMUL_PREF_GROUPED_AVERAGE_REDUCTION_DIM, config_.k);
  if (failed != CUBLAS_STATUS_SUCCESS) return lt.error(failed, "Setting the matmul preference");

  std::array<cublasLtMatmulHeuristicResult_t, 8> results{};
  int found = 0;
  const auto status = lt.algo_get_heuristic(
      lt.handle(), desc_.get(), weights_.get(), activations_.get(), outputs_.get(), outputs_.get(),
      raw, static_cast<int>(results.size()), results.data(), &found);
  const auto end = results.begin() + found;
  const auto usable = std::find_if(results.begin(), end, [](const auto& result) {
    return result.state == CUBLAS_STATUS_SUCCESS &&
           result.workspaceSize <= static_cast<std::size_t>(kWorkspaceBytes);
  });
  if (status != CUBLAS_STATUS_SUCCESS || usable == end) {
    return Error{
        ErrorCode::Unsupported,
        fmt::format("cuBLASLt has no grouped algorithm for {} with {} groups, n {} and k "
                    "{} on this device; choose another recipe or library (cuBLASLt {}: {})",
                    recipe_name(config_), config_.num_groups, config_.n, config_.k,
                    cublaslt_version_text(lt.version()),
                    status == CUBLAS_STATUS_SUCCESS ? "no candidate fits the workspace"
                                                    : lt.get_status_string(status))};
  }
  algorithm_ = usable->algo;
  return {};
}

Status GroupedMatmul::launch(void* workspace, cudaStream_t stream) const {
  // C = D: beta is 0 and C is never read, but null is not allowed for grouped layouts.
  const auto status = library_->matmul(
      library_->handle(), desc_.get(), config_.alpha, config_.weights, weights_.get(),
      config_.activations, activations_.get(), config_.beta, config_.outputs, outputs_.get(),
      const_cast<void**>(config_.outputs), outputs_.get(), &algorithm_, workspace,
      static_cast<std::size_t>(kWorkspaceBytes), stream);
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return library_->error(status, fmt::format("The grouped {} matmul", recipe_name(config_)));
}

}  // namespace engine

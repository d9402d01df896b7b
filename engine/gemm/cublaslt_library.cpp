// dlopen, the function table and the handle of one cuBLASLt library.
#include "engine/gemm/cublaslt_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <vector>

#include "engine/gemm/library_file.h"
#include "engine/gemm/support.h"

namespace engine {

namespace {

/// The loader's own search.
Result<void*> open_by_name(const std::string& name) {
  // Local symbols: two versions in one process must not see each other's.
  void* library = dlopen(name.c_str(), RTLD_LOCAL | RTLD_NOW);
  if (library != nullptr) return library;
  const char* text = dlerror();
  return Error{ErrorCode::NotFound, text == nullptr ? "unknown loader error" : text};
}

Result<void*> open_file(const std::string& path) {
  ENGINE_ASSIGN(LibraryFile file, LibraryFile::open(path));
  return file.load();
}

}  // namespace

CublasLt::~CublasLt() {
  if (handle_ != nullptr) (void)destroy(handle_);
}

Error CublasLt::error(cublasStatus_t status, const std::string& doing) const {
  return {
      .code = status == CUBLAS_STATUS_NOT_SUPPORTED ? ErrorCode::Unsupported : ErrorCode::Device,
      .message = fmt::format("{} failed: {} (cuBLASLt {})", doing, get_status_string(status),
                             cublaslt_version_text(version_))};
}

Result<std::shared_ptr<const CublasLt>> CublasLt::open(const std::string& path) {
  const bool by_name = path.find('/') == std::string::npos;
  ENGINE_ASSIGN(void* library, by_name ? open_by_name(path) : open_file(path));
  std::shared_ptr<CublasLt> loaded(new CublasLt());
  loaded->path_ = path;
  const char* missing = nullptr;
  const auto look_up = [&](const char* name, auto& function) {
    using Function = std::remove_reference_t<decltype(function)>;
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
  };
  const auto require = [&](const char* name, auto& function) {
    if (!look_up(name, function) && missing == nullptr) missing = name;
  };
  require("cublasLtCreate", loaded->create);
  require("cublasLtDestroy", loaded->destroy);
  require("cublasLtGetVersion", loaded->get_version);
  require("cublasLtGetStatusString", loaded->get_status_string);
  require("cublasLtMatmul", loaded->matmul);
  require("cublasLtMatmulDescCreate", loaded->matmul_desc_create);
  require("cublasLtMatmulDescDestroy", loaded->matmul_desc_destroy);
  require("cublasLtMatmulDescSetAttribute", loaded->matmul_desc_set_attribute);
  require("cublasLtMatrixLayoutCreate", loaded->matrix_layout_create);
  require("cublasLtMatrixLayoutDestroy", loaded->matrix_layout_destroy);
  require("cublasLtMatmulPreferenceCreate", loaded->preference_create);
  require("cublasLtMatmulPreferenceDestroy", loaded->preference_destroy);
  require("cublasLtMatmulPreferenceSetAttribute", loaded->preference_set_attribute);
  require("cublasLtMatmulAlgoGetHeuristic", loaded->algo_get_heuristic);
  if (missing != nullptr) {
    return Error{ErrorCode::NotFound, fmt::format("{} has no {}", path, missing)};
  }
  (void)look_up("cublasLtGroupedMatrixLayoutCreate", loaded->grouped_matrix_layout_create);
  loaded->version_ = static_cast<long>(loaded->get_version());
  // Reports which file the loader found.
  Dl_info where{};
  if (by_name && dladdr(reinterpret_cast<void*>(loaded->matmul), &where) != 0 &&
      where.dli_fname != nullptr) {
    loaded->path_ = where.dli_fname;
  }
  if (const cublasStatus_t status = loaded->create(&loaded->handle_);
      status != CUBLAS_STATUS_SUCCESS) {
    loaded->handle_ = nullptr;
    return loaded->error(status, "Creating a handle of " + path);
  }
  return std::shared_ptr<const CublasLt>(std::move(loaded));
}

Result<std::shared_ptr<const CublasLt>> CublasLt::load(const std::string& path) {
  if (!path.empty()) return open(path);
  std::vector<std::string> candidates = find_cublaslt_libraries();
  candidates.emplace_back("libcublasLt.so.13");
  std::string tried;
  for (const std::string& candidate : candidates) {
    Result<std::shared_ptr<const CublasLt>> loaded = open(candidate);
    if (loaded.ok()) return loaded;
    tried += (tried.empty() ? "" : "; ") + loaded.error().message;
  }
  return Error{ErrorCode::NotFound,
               fmt::format("No cuBLASLt 13 library could be loaded ({}); app/run fetches one, or "
                           "set EXPERTSCOPE_CUBLASLT to a libcublasLt.so.13",
                           tried)};
}

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

#include "engine/gemm/cublaslt_products.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "engine/gemm/cublaslt_library.h"
#include "engine/gemm/support.h"

namespace engine {
namespace {

constexpr int kMaxCandidates = 8;
constexpr auto kScalePerExpert = CUBLASLT_MATMUL_MATRIX_SCALE_PER_BATCH_SCALAR_32F;

class CublasLtGrouped final : public GroupedProduct {
 public:
  static Result<std::unique_ptr<GroupedProduct>> create(std::shared_ptr<const CublasLt> library,
                                                        const ProductConfig& config) {
    std::unique_ptr<CublasLtGrouped> made(new CublasLtGrouped(std::move(library), config));
    ENGINE_TRY(made->make_desc());
    ENGINE_TRY(made->make_layouts());
    ENGINE_TRY(made->ask_heuristic());
    return std::unique_ptr<GroupedProduct>(std::move(made));
  }

  Status launch(void* workspace, cudaStream_t stream, const LaunchLabel&) const override {
    return launch_with(candidates_[chosen_], workspace, stream);
  }

  Status launch_expert(int, void*, cudaStream_t) const override {
    return Error{ErrorCode::Unsupported, "One grouped launch serves all experts"};
  }

  Result<AlgorithmTrial> try_candidates(std::span<const std::int64_t> splits, void* workspace,
                                        cudaStream_t stream) override {
    const Result<AlgorithmTrial> trial = remembered_trial(
        memory_key(splits), static_cast<int>(candidates_.size()), stream, [&](int i) {
          return launch_with(candidates_[static_cast<std::size_t>(i)], workspace, stream);
        });
    if (trial.ok()) chosen_ = static_cast<std::size_t>(trial.value().chosen);
    return trial;
  }

 private:
  CublasLtGrouped(std::shared_ptr<const CublasLt> library, const ProductConfig& config)
      : library_(std::move(library)), config_(config) {}

  Status make_desc() {
    ENGINE_ASSIGN(desc_, make_matmul_desc(library_, config_));
    DescAttributes set(library_->matmul_desc_set_attribute, desc_.get());
    if (config_.a.scaling != MatrixScaling::None) {
      set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, scale_mode(config_.a.scaling, kScalePerExpert));
      set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, scale_mode(config_.b.scaling, kScalePerExpert));
      // Grouped: the attribute holds the device array of the groups' scale pointers.
      set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, config_.a.scales);
      set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, config_.b.scales);
    }
    if (config_.alphas != nullptr) {
      constexpr std::int64_t kStridePerGroup = 1;
      set(CUBLASLT_MATMUL_DESC_ALPHA_BATCH_STRIDE, kStridePerGroup);
      set(CUBLASLT_MATMUL_DESC_BETA_BATCH_STRIDE, kStridePerGroup);
    }
    if (set.failed() == CUBLAS_STATUS_SUCCESS) return {};
    return library_->error(set.failed(), describe(config_) + ": its scales");
  }

  Status make_layouts() {
    const auto make = [&](MatrixLayout& layout, const ProductMatrix& matrix) {
      cublasLtMatrixLayout_t raw = nullptr;
      const auto status = library_->grouped_matrix_layout_create(
          &raw, matrix.type, config_.num_groups, matrix.rows, matrix.columns, matrix.rows);
      if (status == CUBLAS_STATUS_SUCCESS) {
        layout = MatrixLayout(
            raw, [library = library_](auto* made) { (void)library->matrix_layout_destroy(made); });
      }
      return status;
    };
    for (const cublasStatus_t status :
         {make(a_, config_.a), make(b_, config_.b), make(d_, config_.d)}) {
      if (status != CUBLAS_STATUS_SUCCESS) {
        return library_->error(status, "Creating a grouped layout");
      }
    }
    return {};
  }

  Status ask_heuristic() {
    Result<MatmulPreference> preference = make_matmul_preference(library_);
    if (!preference.ok()) return preference.error();
    PreferenceAttributes set(library_->preference_set_attribute, preference.value().get());
    // 8 bytes each: the library refuses 4-byte values although its header says uint32.
    const auto at_least_one = [](std::int64_t value) { return std::max<std::int64_t>(value, 1); };
    set(CUBLASLT_MATMUL_PREF_GROUPED_DESC_D_AVERAGE_ROWS, at_least_one(config_.average_rows));
    set(CUBLASLT_MATMUL_PREF_GROUPED_DESC_D_AVERAGE_COLS, at_least_one(config_.average_columns));
    set(CUBLASLT_MATMUL_PREF_GROUPED_AVERAGE_REDUCTION_DIM,
        at_least_one(config_.average_reduction));
    if (set.failed() != CUBLAS_STATUS_SUCCESS) {
      return library_->error(set.failed(), "Setting the matmul preference");
    }
    std::array<cublasLtMatmulHeuristicResult_t, kMaxCandidates> results{};
    int found = 0;
    const auto status = library_->algo_get_heuristic(
        library_->handle(), desc_.get(), a_.get(), b_.get(), d_.get(), d_.get(),
        preference.value().get(), kMaxCandidates, results.data(), &found);
    for (int i = 0; status == CUBLAS_STATUS_SUCCESS && i < found; ++i) {
      const auto& result = results[static_cast<std::size_t>(i)];
      const bool fits = result.workspaceSize <= static_cast<std::size_t>(kWorkspaceBytes);
      if (result.state == CUBLAS_STATUS_SUCCESS && fits) candidates_.push_back(result.algo);
    }
    if (!candidates_.empty()) return {};
    return Error{
        ErrorCode::Unsupported,
        fmt::format("{}: cuBLASLt {} has no grouped algorithm for {} groups and an average of {} x "
                    "{} with reduction {} on this device; choose another recipe or library ({})",
                    describe(config_), cublaslt_version_text(library_->version()),
                    config_.num_groups, config_.average_rows, config_.average_columns,
                    config_.average_reduction,
                    status == CUBLAS_STATUS_SUCCESS ? "no candidate fits the workspace"
                                                    : library_->get_status_string(status))};
  }

  /// Everything that the choice depends on, without addresses. The heuristic's averages do not
  /// distinguish a skewed routing from an even one, but the fastest algorithm differs.
  std::string memory_key(std::span<const std::int64_t> splits) const {
    const auto matrix = [](const ProductMatrix& m) {
      return fmt::format("{}{}{}", static_cast<int>(m.type), m.transposed ? 't' : 'n',
                         static_cast<int>(m.scaling));
    };
    return fmt::format("{}|{}|{}|{}x{}x{}|{}|{}|{}|{}|{}", library_->path(), library_->version(),
                       config_.num_groups, config_.average_rows, config_.average_columns,
                       config_.average_reduction, matrix(config_.a), matrix(config_.b),
                       matrix(config_.d), config_.fast_accumulation, fmt::join(splits, ","));
  }

  Status launch_with(const cublasLtMatmulAlgo_t& algorithm, void* workspace,
                     cudaStream_t stream) const {
    const void* alpha = config_.alpha;
    const void* beta = config_.beta;
    if (config_.alphas != nullptr) {
      alpha = config_.alphas;
      beta = config_.betas;
    }
    // C = D: null is not allowed for grouped layouts, and with beta 1 it is what is added to.
    const auto status = library_->matmul(
        library_->handle(), desc_.get(), alpha, config_.a.values, a_.get(), config_.b.values,
        b_.get(), beta, config_.d.values, d_.get(), const_cast<void**>(config_.d.values), d_.get(),
        &algorithm, workspace, static_cast<std::size_t>(kWorkspaceBytes), stream);
    if (status == CUBLAS_STATUS_SUCCESS) return {};
    return library_->error(status, describe(config_));
  }

  std::shared_ptr<const CublasLt> library_;
  ProductConfig config_;
  MatmulDesc desc_;
  MatrixLayout a_;
  MatrixLayout b_;
  MatrixLayout d_;
  std::vector<cublasLtMatmulAlgo_t> candidates_;
  std::size_t chosen_ = 0;
};

}  // namespace

Result<std::unique_ptr<GroupedProduct>> make_cublaslt_grouped(
    std::shared_ptr<const CublasLt> library, const ProductConfig& config) {
  if (library->grouped_matrix_layout_create == nullptr) {
    return Error{
        ErrorCode::Unsupported,
        fmt::format("{} has no grouped matmul; choose cuBLASLt 13.4 or later", library->path())};
  }
  return CublasLtGrouped::create(std::move(library), config);
}

}  // namespace engine

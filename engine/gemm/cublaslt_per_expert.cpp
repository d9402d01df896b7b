#include "engine/gemm/cublaslt_products.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "engine/device/buffer.h"
#include "engine/device/handles.h"
#include "engine/gemm/cublaslt_library.h"
#include "engine/gemm/support.h"
#include "engine/observe/scopes.h"

namespace engine {
namespace {

// Groups start at any row, so only 16-byte alignment is guaranteed.
constexpr std::uint32_t kAlignment = 16;
constexpr auto kScalePerTensor = CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;

std::size_t element_bytes(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_32F:
      return 4;
    case CUDA_R_16BF:
    case CUDA_R_16F:
      return 2;
    default:
      return 1;
  }
}

/// One expert's matmul, ready to launch.
struct ExpertMatmul {
  int expert = 0;
  MatmulDesc desc;
  MatrixLayout a;
  MatrixLayout b;
  MatrixLayout d;
  const void* a_values = nullptr;
  const void* b_values = nullptr;
  void* d_values = nullptr;
  cublasLtMatmulAlgo_t algorithm{};
};

/// An expert without rows whose D is to become zeros.
struct ClearedOutput {
  void* values = nullptr;
  std::size_t bytes = 0;
};

class CublasLtPerExpert final : public GroupedProduct {
 public:
  static Result<std::unique_ptr<GroupedProduct>> create(std::shared_ptr<const CublasLt> library,
                                                        const PerExpertConfig& config) {
    std::unique_ptr<CublasLtPerExpert> made(new CublasLtPerExpert(std::move(library), config));
    ENGINE_TRY(made->make_lanes());
    Result<MatmulPreference> preference = make_matmul_preference(made->library_);
    if (!preference.ok()) return preference.error();
    made->preference_ = std::move(preference).value();
    PreferenceAttributes set(made->library_->preference_set_attribute, made->preference_.get());
    for (const auto attribute :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      set(attribute, kAlignment);
    }
    if (set.failed() != CUBLAS_STATUS_SUCCESS) {
      return made->library_->error(set.failed(), "Setting the matmul preference");
    }
    for (int expert = 0; expert < config.product.num_groups; ++expert) {
      ENGINE_TRY(made->add_expert(static_cast<std::size_t>(expert)));
    }
    return std::unique_ptr<GroupedProduct>(std::move(made));
  }

  Status launch(void* workspace, cudaStream_t stream, const LaunchLabel& label) const override {
    ENGINE_CUDA_TRY(cudaEventRecord(fork_.get(), stream), "Forking the experts' streams");
    for (const Lane& lane : lanes_) {
      ENGINE_CUDA_TRY(cudaStreamWaitEvent(lane.stream.get(), fork_.get()),
                      "Forking the experts' streams");
    }
    for (const ClearedOutput& cleared : cleared_) {
      ENGINE_CUDA_TRY(
          cudaMemsetAsync(cleared.values, 0, cleared.bytes, lanes_.front().stream.get()),
          "Clearing the output of an expert without rows");
    }
    for (std::size_t i = 0; i < experts_.size(); ++i) {
      const Lane& lane = lanes_[i % lanes_.size()];
      // The first stream uses the caller's workspace, the only one in which the strategies differ.
      void* const space = &lane == &lanes_.front() ? workspace : lane.workspace.data();
      WorkTag tag = label.tag;
      tag.expert = experts_[i].expert;
      const WorkScope scope(label.observer, tag);
      ENGINE_TRY(launch_matmul(experts_[i], space, lane.stream.get()));
    }
    for (const Lane& lane : lanes_) {
      ENGINE_CUDA_TRY(cudaEventRecord(lane.done.get(), lane.stream.get()),
                      "Joining the experts' streams");
      ENGINE_CUDA_TRY(cudaStreamWaitEvent(stream, lane.done.get()), "Joining the experts' streams");
    }
    return {};
  }

  Status launch_expert(int expert, void* workspace, cudaStream_t stream) const override {
    const auto found = std::ranges::find(experts_, expert, &ExpertMatmul::expert);
    return found == experts_.end() ? Status{} : launch_matmul(*found, workspace, stream);
  }

  Result<AlgorithmTrial> try_candidates(std::span<const std::int64_t>, void*,
                                        cudaStream_t) override {
    return AlgorithmTrial{};
  }

 private:
  struct Lane {
    Stream stream;
    Event done;
    DeviceBuffer workspace;
  };
  using Dimensions = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

  CublasLtPerExpert(std::shared_ptr<const CublasLt> library, const PerExpertConfig& config)
      : library_(std::move(library)), config_(config) {}

  Status make_lanes() {
    ENGINE_ASSIGN(fork_, make_order_event());
    for (int i = 0; i < config_.streams; ++i) {
      Lane lane;
      ENGINE_ASSIGN(lane.stream, make_stream());
      ENGINE_ASSIGN(lane.done, make_order_event());
      if (i > 0) {
        ENGINE_ASSIGN(
            lane.workspace,
            DeviceBuffer::allocate(kWorkspaceBytes, {AllocationRole::Workspace,
                                                     fmt::format("workspace of lane {}", i)}));
      }
      lanes_.push_back(std::move(lane));
    }
    return {};
  }

  Result<MatrixLayout> make_layout(cudaDataType_t type, const HostMatrix& matrix,
                                   std::size_t expert) {
    cublasLtMatrixLayout_t raw = nullptr;
    const auto status = library_->matrix_layout_create(
        &raw, type, static_cast<std::uint64_t>(matrix.rows[expert]),
        static_cast<std::uint64_t>(matrix.columns[expert]), matrix.rows[expert]);
    if (status != CUBLAS_STATUS_SUCCESS) return library_->error(status, "Creating a layout");
    return MatrixLayout(
        raw, [library = library_](auto* made) { (void)library->matrix_layout_destroy(made); });
  }

  std::int64_t reduction(std::size_t expert) const {
    return config_.product.a.transposed ? config_.a.rows[expert] : config_.a.columns[expert];
  }

  Status add_expert(std::size_t expert) {
    const ProductConfig& product = config_.product;
    const std::int64_t rows = config_.d.rows[expert];
    const std::int64_t columns = config_.d.columns[expert];
    if (rows == 0 || columns == 0) return {};
    if (reduction(expert) == 0) {
      const std::size_t bytes =
          static_cast<std::size_t>(rows * columns) * element_bytes(product.d.type);
      if (config_.beta == 0.0F) cleared_.push_back({config_.d.values[expert], bytes});
      return {};
    }
    ExpertMatmul made;
    made.expert = static_cast<int>(expert);
    ENGINE_ASSIGN(made.desc, make_matmul_desc(library_, product));
    if (product.a.scaling != MatrixScaling::None) {
      DescAttributes set(library_->matmul_desc_set_attribute, made.desc.get());
      set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, scale_mode(product.a.scaling, kScalePerTensor));
      set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, scale_mode(product.b.scaling, kScalePerTensor));
      set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, config_.a.scales[expert]);
      set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, config_.b.scales[expert]);
      if (set.failed() != CUBLAS_STATUS_SUCCESS) {
        return library_->error(set.failed(), describe(product) + ": its scales");
      }
    }
    for (const auto& [layout, type, matrix] : {std::tuple{&made.a, product.a.type, &config_.a},
                                               std::tuple{&made.b, product.b.type, &config_.b},
                                               std::tuple{&made.d, product.d.type, &config_.d}}) {
      ENGINE_ASSIGN(MatrixLayout created, make_layout(type, *matrix, expert));
      *layout = std::move(created);
    }
    made.a_values = config_.a.values[expert];
    made.b_values = config_.b.values[expert];
    made.d_values = config_.d.values[expert];
    ENGINE_TRY(choose_algorithm(expert, made));
    experts_.push_back(std::move(made));
    return {};
  }

  Status choose_algorithm(std::size_t expert, ExpertMatmul& made) {
    const Dimensions dimensions{config_.d.rows[expert], config_.d.columns[expert],
                                reduction(expert)};
    if (const auto known = algorithms_.find(dimensions); known != algorithms_.end()) {
      made.algorithm = known->second;
      return {};
    }
    std::array<cublasLtMatmulHeuristicResult_t, 1> results{};
    int found = 0;
    const auto status = library_->algo_get_heuristic(
        library_->handle(), made.desc.get(), made.a.get(), made.b.get(), made.d.get(), made.d.get(),
        preference_.get(), 1, results.data(), &found);
    if (status != CUBLAS_STATUS_SUCCESS || found == 0) {
      return Error{
          ErrorCode::Unsupported,
          fmt::format("{}: cuBLASLt {} has no algorithm for expert {} ({} x {}, reduction {}); "
                      "choose the grouped backend, another recipe or library ({})",
                      describe(config_.product), cublaslt_version_text(library_->version()), expert,
                      std::get<0>(dimensions), std::get<1>(dimensions), std::get<2>(dimensions),
                      library_->get_status_string(status))};
    }
    made.algorithm = results[0].algo;
    algorithms_.emplace(dimensions, made.algorithm);
    return {};
  }

  Status launch_matmul(const ExpertMatmul& expert, void* workspace, cudaStream_t stream) const {
    const auto status = library_->matmul(
        library_->handle(), expert.desc.get(), config_.product.alpha, expert.a_values,
        expert.a.get(), expert.b_values, expert.b.get(), config_.product.beta, expert.d_values,
        expert.d.get(), expert.d_values, expert.d.get(), &expert.algorithm, workspace,
        static_cast<std::size_t>(kWorkspaceBytes), stream);
    if (status == CUBLAS_STATUS_SUCCESS) return {};
    return library_->error(status, describe(config_.product));
  }

  std::shared_ptr<const CublasLt> library_;
  PerExpertConfig config_;
  MatmulPreference preference_;
  Event fork_;
  std::vector<Lane> lanes_;
  std::vector<ExpertMatmul> experts_;
  std::vector<ClearedOutput> cleared_;
  std::map<Dimensions, cublasLtMatmulAlgo_t> algorithms_;
};

}  // namespace

Result<std::unique_ptr<GroupedProduct>> make_cublaslt_per_expert(
    std::shared_ptr<const CublasLt> library, const PerExpertConfig& config) {
  return CublasLtPerExpert::create(std::move(library), config);
}

}  // namespace engine

// Backend of the CUDA flavour: gates, library choice, device facts. The run itself is cuda_run.cpp.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <map>
#include <utility>

#include "engine/backend/backend.h"
#include "engine/backend/cuda/cuda_run.h"
#include "engine/backend/cuda/recipe_comparison.h"
#include "engine/backend/cuda/step_setup.h"
#include "engine/device/device_facts.h"
#include "engine/gemm/support.h"
#include "engine/model/clock.h"

namespace engine {
namespace {

class CudaBackend final : public Backend {
 public:
  CudaBackend(FoundDevice device, std::shared_ptr<const CublasLt> library, Stream stream)
      : device_(std::move(device)),
        default_library_(std::move(library)),
        stream_(std::move(stream)) {}

  GemmBackend kind() const override { return GemmBackend::CublasLtGrouped; }
  DeviceFacts device() const override { return facts_with(*default_library_); }

  Result<RunResult> run(const RunRequest& request, RunContext context) override {
    const std::int64_t begin_ns = steady_ns();
    // The engine thread may differ from the one that created the backend.
    ENGINE_CUDA_TRY(cudaSetDevice(0), "Making the device current");
    ENGINE_ASSIGN(const std::shared_ptr<const CublasLt> library,
                  choose_library(request.cublaslt_library));

    RunResult result;
    result.id = context.progress.request_id.load();
    result.device = facts_with(*library);
    DeviceCapability capability = device_.capability;
    capability.cublaslt_version = library->version();
    ENGINE_TRY(apply_gates(request, capability, library->path(), result));
    const CudaRunResources resources{.operands = operands_,
                                     .library = library,
                                     .stream = stream_.get(),
                                     .capability = capability};
    ENGINE_TRY(run_on_device(resources, context, result));
    result.activity_method = context.observer.method();
    result.dropped_records = context.observer.dropped();
    result.wall_ns = steady_ns() - begin_ns;
    return result;
  }

  Result<RecipeComparison> compare(const ComparisonRequest& request, RunContext context) override {
    ENGINE_CUDA_TRY(cudaSetDevice(0), "Making the device current");
    return compare_on_cuda(request, device(), operands_, stream_.get(), context);
  }

 private:
  DeviceFacts facts_with(const CublasLt& library) const {
    DeviceFacts facts = device_.facts;
    facts.cublaslt_version = cublaslt_version_text(library.version());
    facts.cublaslt_path = library.path();
    return facts;
  }

  Result<std::shared_ptr<const CublasLt>> choose_library(const std::string& path) {
    if (path.empty() || path == default_library_->path()) return default_library_;
    if (const auto known = libraries_.find(path); known != libraries_.end()) return known->second;
    Result<std::shared_ptr<const CublasLt>> loaded = CublasLt::load(path);
    if (loaded.ok()) libraries_.emplace(path, loaded.value());
    return loaded;
  }

  FoundDevice device_;
  std::shared_ptr<const CublasLt> default_library_;
  std::map<std::string, std::shared_ptr<const CublasLt>> libraries_;
  Stream stream_;
  DeviceOperands operands_;
};

}  // namespace

BackendSlot make_cuda_backend(const std::string& cublaslt_path) {
  BackendSlot slot;
  slot.kind = GemmBackend::CublasLtGrouped;
  Result<FoundDevice> device = find_device();
  if (!device.ok()) {
    slot.reason = device.error().message;
    return slot;
  }
  Result<std::shared_ptr<const CublasLt>> library = CublasLt::load(cublaslt_path);
  if (!library.ok()) {
    slot.reason = library.error().message;
    return slot;
  }
  Result<Stream> stream = make_stream();
  if (!stream.ok()) {
    slot.reason = stream.error().message;
    return slot;
  }
  slot.backend = std::make_unique<CudaBackend>(
      std::move(device).value(), std::move(library).value(), std::move(stream).value());
  return slot;
}

}  // namespace engine

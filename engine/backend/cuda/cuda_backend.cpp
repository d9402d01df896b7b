// Backend of the CUDA flavour: gates, library choice, device facts. The run itself is cuda_run.cpp.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <chrono>
#include <map>
#include <utility>

#include "engine/backend/backend.h"
#include "engine/backend/cuda/cuda_run.h"
#include "engine/device/device_facts.h"
#include "engine/gemm/support.h"
#include "engine/quantize/comparison_cuda.h"

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
    const auto start = std::chrono::steady_clock::now();
    // The engine thread may be another than the one that made the backend.
    ENGINE_CUDA_TRY(cudaSetDevice(0), "Making the device current");
    const Result<std::shared_ptr<const CublasLt>> library =
        choose_library(request.cublaslt_library);
    if (!library.ok()) return library.error();

    RunResult result;
    result.id = context.progress.request_id.load();
    result.device = facts_with(*library.value());
    ENGINE_TRY(apply_gates(request, *library.value(), result));
    const CudaRunResources resources{.operands = operands_,
                                     .library = library.value(),
                                     .stream = stream_.get(),
                                     .compute_major = device_.capability.compute_major};
    ENGINE_TRY(run_on_device(resources, context, result));
    result.activity_method = context.observer.method();
    result.dropped_records = context.observer.dropped();
    result.wall_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                         std::chrono::steady_clock::now() - start)
                         .count();
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

  /// Fills result.effective and its deviations, or refuses with the gate's sentence.
  Status apply_gates(const RunRequest& request, const CublasLt& library, RunResult& result) const {
    DeviceCapability capability = device_.capability;
    capability.cublaslt_version = library.version();
    ForcedSettings forced = forced_settings(request);
    result.effective = std::move(forced.effective);
    if (!runs_on_cuda(request.backend)) result.effective.backend = kind();
    result.effective.cublaslt_library = library.path();
    result.deviations = std::move(forced.deviations);
    const RunRequest& effective = result.effective;
    const Verdict recipe =
        recipe_support(effective.recipe, effective.backend, capability, effective.linear);
    const Verdict launch = launch_support(effective.launch, effective.backend, capability);
    for (const Verdict& verdict : {recipe, launch}) {
      if (verdict.support == Support::Refused) {
        return Error{ErrorCode::Unsupported, verdict.sentence};
      }
    }
    if (recipe.support == Support::Fallback) {
      result.emulated = recipe.sentence;
      result.deviations.push_back({.field = "recipe",
                                   .requested = "products of the recipe's own operands",
                                   .effective = "emulated",
                                   .reason = recipe.sentence});
    }
    if (launch.support == Support::Hazardous) {
      result.deviations.push_back({.field = "launch",
                                   .requested = "graph replay",
                                   .effective = "graph replay, hazardous",
                                   .reason = launch.sentence});
    }
    const Verdict workspace =
        workspace_support(result.effective.workspace, result.effective, capability);
    // Run as asked: whoever chooses it may want to see it fail. The replay checks will tell.
    if (workspace.support == Support::Hazardous) {
      result.deviations.push_back({.field = "workspace",
                                   .requested = "several products a workspace",
                                   .effective = "as requested, hazardous",
                                   .reason = workspace.sentence});
    }
    return {};
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

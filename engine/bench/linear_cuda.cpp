#include "engine/bench/linear_cuda.h"

#include <fmt/format.h>

#include <utility>

#include "engine/backend/cuda/step_setup.h"
#include "engine/bench/linear_cuda_subject.h"
#include "engine/device/device_facts.h"

namespace engine {
namespace {

// Kernels that are loaded lazily, and the peers' memory, are not counted.
constexpr std::int64_t kReserveBytes = std::int64_t{1} << 30;

double gib(std::int64_t bytes) { return static_cast<double>(bytes) / 0x1p30; }

RunRequest on_device(const LinearCase& measured, LinearBenchRecipe recipe) {
  RunRequest request = linear_bench_request(measured.shape, measured.routing, recipe);
  request.backend = GemmBackend::CublasLtGrouped;
  request.launch.kind = LaunchKind::GraphReplay;
  return request;
}

class DeviceLinearTarget final : public LinearTarget {
 public:
  DeviceLinearTarget(FoundDevice device, std::shared_ptr<const CublasLt> library, Stream stream,
                     ReplayTracer* tracer)
      : device_(std::move(device)),
        library_(std::move(library)),
        stream_(std::move(stream)),
        tracer_(tracer) {
    device_.capability.cublaslt_version = library_->version();
  }

  Result<std::vector<OfferedSubject>> offer(const LinearCase& measured,
                                            RunProgress& progress) override {
    const RunRequest any = on_device(measured, LinearBenchRecipe::Bf16);
    // All recipes read the same operands; those of the shape before make room.
    (void)operands_.keep_only({device_operand_key(any, OperandRole::Activations, 0),
                               device_operand_key(any, OperandRole::Gradients, 0),
                               device_operand_key(any, OperandRole::Weights, 0)});
    std::vector<OfferedSubject> offered;
    for (const LinearBenchRecipe recipe : kLinearBenchRecipes) {
      OfferedSubject offer{.name = std::string(linear_bench_recipe_name(recipe)),
                           .subject = nullptr};
      Result<std::unique_ptr<LinearSubject>> subject = make(offer.name, measured, recipe, progress);
      if (subject.ok()) {
        offer.subject = std::move(subject).value();
      } else if (subject.error().code == ErrorCode::Cancelled || broken()) {
        return subject.error();
      } else {
        offer.missing = subject.error().message;
      }
      offered.push_back(std::move(offer));
    }
    return offered;
  }

 private:
  /// Whether the device can still be used after an error.
  bool broken() const {
    (void)cudaGetLastError();
    return cudaStreamSynchronize(stream_.get()) != cudaSuccess;
  }

  Result<std::unique_ptr<LinearSubject>> make(const std::string& name, const LinearCase& measured,
                                              LinearBenchRecipe recipe, RunProgress& progress) {
    RunResult result;
    ENGINE_TRY(
        apply_gates(on_device(measured, recipe), device_.capability, library_->path(), result));
    // Dequantized operands would be timed under the name of a recipe that did not run.
    if (!result.emulated.empty()) return Error{ErrorCode::Unsupported, result.emulated};
    const GroupedShape shape{
        .splits = measured.splits, .n = measured.shape.n, .k = measured.shape.k};
    const StepConfig config = step_config(result, shape, device_.capability.compute_major);
    StepObserver unobserved;
    Result<UploadedStep> uploaded = upload_step(result, config, operands_, stream_.get(),
                                                {.progress = progress, .observer = unobserved});
    if (!uploaded.ok()) return uploaded.error();
    const Result<std::int64_t> available = free_device_memory();
    if (!available.ok()) return available.error();
    const std::int64_t needed = CudaLinearSubject::bytes(config) + kReserveBytes;
    if (needed > available.value()) {
      return Error{
          ErrorCode::OutOfMemory,
          fmt::format("its steps need {:.1f} GiB of device memory in addition to those of the "
                      "other recipes, but {:.1f} GiB are free",
                      gib(needed), gib(available.value()))};
    }
    return CudaLinearSubject::create({.name = name,
                                      .library = library_,
                                      .config = config,
                                      .operands = std::move(uploaded.value().operands),
                                      .splits = measured.splits,
                                      .stream = stream_.get(),
                                      .tracer = tracer_});
  }

  FoundDevice device_;
  const std::shared_ptr<const CublasLt> library_;
  const Stream stream_;
  ReplayTracer* const tracer_;
  DeviceOperands operands_;
};

}  // namespace

Result<CudaLinearTarget> make_cuda_linear_target(const std::string& cublaslt_path,
                                                 ReplayTracer* tracer) {
  Result<FoundDevice> device = find_device();
  if (!device.ok()) return device.error();
  Result<std::shared_ptr<const CublasLt>> library = CublasLt::load(cublaslt_path);
  if (!library.ok()) return library.error();
  Result<Stream> stream = make_stream();
  if (!stream.ok()) return stream.error();
  DeviceFacts facts = device.value().facts;
  facts.cublaslt_version = cublaslt_version_text(library.value()->version());
  facts.cublaslt_path = library.value()->path();
  return CudaLinearTarget{
      .target = std::make_unique<DeviceLinearTarget>(
          std::move(device).value(), std::move(library).value(), std::move(stream).value(), tracer),
      .device = std::move(facts)};
}

}  // namespace engine

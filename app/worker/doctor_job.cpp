// Orders of the graph doctor. Whatever the outcome, the worker ends after the answer.
#include <unistd.h>

#include <memory>
#include <utility>

#include "app/worker/handlers.h"
#ifdef EXPERTSCOPE_WITH_CUDA
#include "engine/device/buffer.h"
#include "engine/device/device_facts.h"
#include "engine/device/handles.h"
#include "profiling/hazards/gallery/gallery.h"
#include "profiling/hazards/proofs/experiment_run.h"
#include "profiling/hazards/proofs/step_subject.h"
#include "profiling/power/device_watch.h"
#endif

namespace app {

#ifdef EXPERTSCOPE_WITH_CUDA
namespace {

constexpr const char* kSharedWorkspace = "shared-workspace";

/// The case that is a real step on a real library: two products that share a workspace.
engine::RunRequest shared_workspace_request(engine::RunRequest request, bool healthy) {
  request.shape = {.preset = "", .num_experts = 4, .rows = 512, .n = 256, .k = 256};
  request.routing = {};
  request.recipe = {};
  request.products = {};
  request.products.passes = engine::StepPasses::ForwardBackward;
  request.layers = 1;
  request.backend = engine::GemmBackend::CublasLtGrouped;
  request.workspace =
      healthy ? engine::WorkspaceStrategy::PerMatmul : engine::WorkspaceStrategy::Shared;
  request.try_algorithms = false;
  return request;
}

engine::Result<std::unique_ptr<profiling::Subject>> make_subject(
    const DoctorOrder& order, const std::string& cublaslt, const engine::FoundDevice& device,
    cudaStream_t stream, profiling::ExperimentFacts& facts) {
  if (!order.gallery_case.empty() && order.gallery_case != kSharedWorkspace) {
    return profiling::make_gallery_subject(order.gallery_case, order.healthy, stream);
  }
  const engine::RunRequest request = order.gallery_case.empty()
                                         ? order.request
                                         : shared_workspace_request(order.request, order.healthy);
  ENGINE_TRY(engine::validate(request));
  return profiling::make_step_subject(request, cublaslt, device, stream, facts);
}

}  // namespace
#endif

engine::Result<Answer> carry_out([[maybe_unused]] const OrderContext& context,
                                 [[maybe_unused]] const DoctorOrder& order) {
#ifdef EXPERTSCOPE_WITH_CUDA
  if (context.backends.choice() == BackendChoice::Cpu) {
    return engine::Error{engine::ErrorCode::Unsupported,
                         "experiments on captured graphs need a CUDA device; this worker was "
                         "started for the CPU only: leave out --worker-backend cpu"};
  }
  const engine::Result<engine::FoundDevice> device = engine::find_device();
  if (!device.ok()) {
    return engine::Error{
        device.error().code,
        "experiments on captured graphs need a CUDA device: " + device.error().message};
  }
  if (order.experiment.red_zones) engine::RedZones::turn_on();
  ENGINE_ASSIGN(const engine::Stream stream, engine::make_stream());
  profiling::ExperimentFacts facts{.device = device.value().facts};
  ENGINE_ASSIGN(
      std::unique_ptr<profiling::Subject> subject,
      make_subject(order, context.backends.cublaslt_path(), device.value(), stream.get(), facts));
  // Created before anything can hang: after a hang, a query to the device may never return.
  const profiling::DeviceWatch device_watch({.pci_bus_id = engine::device_bus_id()});
  context.board.ask_device([&device_watch] { return device_watch.latest(); });
  engine::Result<profiling::ExperimentReply> reply = profiling::run_experiment(
      *subject, order.experiment, facts, {.progress = context.progress, .board = context.board},
      stream.get());
  context.board.ask_device(nullptr);
  if (!reply.ok()) return reply.error();
  ENGINE_TRY(
      context.sender.answer(context.id, DoctorDone{.snapshot = std::move(reply.value().snapshot),
                                                   .outcome = std::move(reply.value().outcome)}));
  // Not exit(): destructors would wait for a kernel that may never end.
  ::_exit(0);
#else
  return engine::Error{engine::ErrorCode::Unsupported,
                       "experiments on captured graphs need a CUDA device, and this worker was "
                       "built without CUDA; snapshots can be examined without one"};
#endif
}

}  // namespace app

#include "app/worker/replay_guard.h"

#include <unistd.h>

#include <chrono>
#include <utility>

#include "app/protocol/convert.h"
#ifdef EXPERTSCOPE_WITH_CUDA
#include <fmt/format.h>

#include "engine/device/device_facts.h"
#include "profiling/doctor/run_watch.h"
#include "profiling/doctor/stall_probe.h"
#include "profiling/power/device_watch.h"
#else
namespace profiling {
class Probe {};  // no experiments without CUDA
}  // namespace profiling
#endif

namespace app {

void describe_run(profiling::Snapshot& snapshot, const engine::DeviceFacts& device) {
  snapshot.subject = "the captured step of this run";
  snapshot.cublaslt_version = device.cublaslt_version;
  snapshot.device = device.name;
  snapshot.compute_capability = device.compute_capability;
  snapshot.driver = device.driver;
}

ReplayGuard::ReplayGuard(FrameSender& sender, profiling::LiveBoard& board)
    : sender_(sender), board_(board) {}

ReplayGuard::~ReplayGuard() = default;

#ifdef EXPERTSCOPE_WITH_CUDA
namespace {

// With the probe's share this keeps the answer within a second of the deadline.
constexpr std::chrono::milliseconds kDeviceAnswer{300};

std::string ask_device() {
  auto watch = std::make_unique<profiling::DeviceWatch>(
      profiling::DeviceWatch::Options{.pci_bus_id = engine::device_bus_id()});
  std::string says = watch->wait_for_answer(kDeviceAnswer);
  // Left to the end of the process, which is near: its own would wait for a stuck driver.
  (void)watch.release();
  return says;
}

}  // namespace

engine::Result<std::unique_ptr<engine::ReplayWatch>> ReplayGuard::watch(
    Backends& backends, const engine::BackendSlot& slot, std::uint64_t id,
    const engine::RunRequest& request) {
  if (!engine::runs_on_cuda(slot.kind) || request.launch.kind != engine::LaunchKind::GraphReplay) {
    return std::unique_ptr<engine::ReplayWatch>();
  }
  if (probe_ == nullptr) {
    engine::Result<profiling::Probe> made = profiling::Probe::create();
    if (!made.ok()) return made.error();
    probe_ = std::make_unique<profiling::Probe>(std::move(made).value());
  }
  profiling::ActivityCollector& collector = backends.collector_for(slot.kind);
  engine::Backend& backend = *slot.backend;
  const auto began = std::chrono::steady_clock::now();
  const auto answer = [this, id, began, &collector, &backend](profiling::StalledRun run) {
    // The collector's has stages and layers.
    profiling::Snapshot traced = collector.take_snapshot();
    if (!traced.graphs.empty()) run.snapshot = std::move(traced);
    describe_run(run.snapshot, backend.device());
    RunError late;
    late.id = id;
    late.error.code = engine::ErrorCode::Device;
    late.error.message =
        fmt::format("replay {} was not over after {:.2f} s, and the worker has ended",
                    run.stall.replay, run.stall.waited_seconds);
    DoctorDone seen{.id = id, .snapshot = std::move(run.snapshot)};
    seen.outcome.verdict = profiling::Verdict::Hung;
    seen.outcome.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    seen.outcome.stall.push_back(std::move(run.stall));
    late.stalled = std::make_shared<const DoctorDone>(std::move(seen));
    wire::Frame frame;
    *frame.mutable_failed() = to_wire(late);
    static_cast<void>(sender_.send(frame).ok());
    // Not exit(): destructors would wait for a kernel that may never end.
    ::_exit(0);
  };
  return std::unique_ptr<engine::ReplayWatch>(std::make_unique<profiling::RunWatch>(
      *probe_, board_,
      profiling::RunWatch::Options{
          .markers = request.launch.markers, .device = ask_device, .stalled = answer}));
}
#else
engine::Result<std::unique_ptr<engine::ReplayWatch>> ReplayGuard::watch(
    Backends& /*backends*/, const engine::BackendSlot& /*slot*/, std::uint64_t /*id*/,
    const engine::RunRequest& /*request*/) {
  return std::unique_ptr<engine::ReplayWatch>();
}
#endif

}  // namespace app

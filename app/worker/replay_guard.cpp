#include "app/worker/replay_guard.h"

#include <chrono>
#include <utility>

#include "app/worker/end_worker.h"
#ifdef EXPERTSCOPE_WITH_CUDA
#include "engine/device/device_facts.h"
#include "engine/model/backend_traits.h"
#include "profiling/hazards/proofs/run_watch.h"
#include "profiling/hazards/proofs/stall_probe.h"
#include "profiling/power/device_watch.h"
#else
namespace profiling {
class Probe {};  // no experiments without CUDA
}  // namespace profiling
#endif

namespace app {
namespace {

constexpr std::chrono::milliseconds kGuardPeriod{50};

}  // namespace

LaunchGuard::~LaunchGuard() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  stopped_changed_.notify_all();
  thread_.join();
}

void LaunchGuard::watch(OnBlocked on_blocked) {
  {
    const std::lock_guard lock(mutex_);
    on_blocked_ = std::move(on_blocked);
  }
  if (thread_.started()) return;
  thread_ = engine::GuardedThread([this] { check_until_stopped(); }, end_worker);
}

void LaunchGuard::check_until_stopped() {
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    const OnBlocked on_blocked = on_blocked_;
    lock.unlock();
    clock_.report_if_late(on_blocked);
    lock.lock();
    stopped_changed_.wait_for(lock, kGuardPeriod, [this] { return stopped_; });
  }
}

void describe_run(profiling::Snapshot& snapshot, engine::StepKind step,
                  const engine::DeviceFacts& device) {
  snapshot.step = step;
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

// Together with the probe's share this keeps the answer within a second of the deadline.
constexpr std::chrono::milliseconds kDeviceAnswer{300};

/// `bus_id` of the device, queried while it still answered.
std::string ask_device(const std::string& bus_id) {
  auto watch = std::make_unique<profiling::DeviceWatch>(
      profiling::DeviceWatch::Options{.pci_bus_id = bus_id});
  std::string says = watch->wait_for_answer(kDeviceAnswer);
  // Leaked on purpose: the process ends soon, and the destructor would wait for a stuck driver.
  (void)watch.release();
  return says;
}

}  // namespace

engine::Result<std::unique_ptr<engine::ReplayWatch>> ReplayGuard::watch(
    Backends& backends, const engine::BackendSlot& slot, std::uint64_t id,
    const engine::RunRequest& request) {
  if (!engine::traits_of(slot.kind).device) return std::unique_ptr<engine::ReplayWatch>();
  if (probe_ == nullptr) {
    ENGINE_ASSIGN(profiling::Probe made, profiling::Probe::create());
    probe_ = std::make_unique<profiling::Probe>(std::move(made));
  }
  profiling::ActivityCollector& collector = backends.collector_for(slot.kind);
  const StalledOrder order{.id = id, .began = std::chrono::steady_clock::now()};
  // Queried now: the device may not answer later.
  const engine::DeviceFacts device = slot.backend->device();
  const auto answer = [this, order, device, step = request.step,
                       &collector](profiling::StalledRun run) {
    // The collector's snapshot has stages and layers.
    profiling::Snapshot traced = collector.take_snapshot();
    if (!traced.graphs.empty()) run.snapshot = std::move(traced);
    describe_run(run.snapshot, step, device);
    answer_and_end(sender_, order, std::move(run));
  };
  auto watch = std::make_unique<profiling::RunWatch>(
      *probe_, board_,
      profiling::RunWatch::Options{
          .markers = request.launch.markers,
          .launches = &launches_.clock(),
          .device = [bus = engine::device_bus_id()] { return ask_device(bus); },
          .stalled = answer});
  // Called only during a launch of this run, so the watch still exists.
  launches_.watch([answer, seen = watch.get()](const profiling::BlockedLaunch& blocked) {
    answer(seen->blocked(blocked));
  });
  return std::unique_ptr<engine::ReplayWatch>(std::move(watch));
}
#else
engine::Result<std::unique_ptr<engine::ReplayWatch>> ReplayGuard::watch(
    Backends& /*backends*/, const engine::BackendSlot& /*slot*/, std::uint64_t /*id*/,
    const engine::RunRequest& /*request*/) {
  return std::unique_ptr<engine::ReplayWatch>();
}
#endif

}  // namespace app

#include "app/worker/linear_bench_job.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/protocol/convert.h"
#include "app/worker/bench_power.h"
#include "app/worker/kernel_tracer.h"
#include "app/worker/peer_process.h"
#include "engine/bench/linear_bench.h"
#ifdef EXPERTSCOPE_WITH_CUDA
#include "engine/device/device_facts.h"
#include "engine/model/backend_traits.h"
#endif

namespace app {
namespace {

using engine::GemmBackend;

/// Where our steps run.
struct LinearPlace {
  std::unique_ptr<engine::ReplayTracer> tracer;  // outlives the target
  std::unique_ptr<engine::LinearTarget> target;
  std::string pci_bus_id;
  BenchStart start;
};

engine::Result<LinearPlace> device_place(Backends& backends) {
#ifdef EXPERTSCOPE_WITH_CUDA
  LinearPlace place;
  place.start.kernels_missing = backends.no_activity_reason(GemmBackend::CublasLtGrouped);
  if (place.start.kernels_missing.empty()) {
    place.tracer =
        std::make_unique<KernelTracer>(backends.collector_for(GemmBackend::CublasLtGrouped));
  }
  engine::Result<engine::CudaLinearTarget> made =
      engine::make_cuda_linear_target(backends.cublaslt_path(), place.tracer.get());
  if (!made.ok()) return made.error();
  place.target = std::move(made.value().target);
  place.pci_bus_id = engine::device_bus_id();
  place.start.device = std::move(made.value().device);
  place.start.runtime = engine::cuda_runtime_text();
  place.start.time_method = engine::kCudaLinearTimes;
  return place;
#else
  return engine::Error{engine::ErrorCode::Unsupported,
                       backends.why_not(GemmBackend::CublasLtGrouped)};
#endif
}

engine::Result<LinearPlace> find_linear_place(Backends& backends, bool cpu) {
  std::string no_device;
  if (!cpu && backends.choice() != BackendChoice::Cpu) {
    engine::Result<LinearPlace> place = device_place(backends);
    if (place.ok() || backends.choice() == BackendChoice::Cuda) return place;
    no_device = place.error().message;
  }
  const engine::BackendSlot* slot = backends.slot_for(GemmBackend::CpuReference);
  if (slot == nullptr || engine::traits_of(slot->kind).device) {
    return engine::Error{engine::ErrorCode::Unsupported,
                         backends.why_not(GemmBackend::CpuReference)};
  }
  LinearPlace place;
  place.target = engine::make_cpu_linear_target();
  place.start.device = slot->backend->device();
  place.start.threads = place.start.device.multiprocessors;
  place.start.no_device = std::move(no_device);
  place.start.time_method = engine::kCpuLinearTimes;
  return place;
}

engine::Status send_rows(const std::vector<engine::MeasuredLinearRow>& rows, std::uint64_t id,
                         BenchPower& power, FrameSender& sender) {
  power.take();
  std::vector<engine::MeasuredSpan> all;
  for (const engine::MeasuredLinearRow& measured : rows) {
    all.insert(all.end(), measured.spans.begin(), measured.spans.end());
  }
  for (const engine::MeasuredLinearRow& measured : rows) {
    const BenchPower::Readings readings = power.of(measured.spans, all);
    wire::Frame frame;
    *frame.mutable_linear_bench_row() =
        to_wire(LinearRowReport{.id = id,
                                .row = measured.row,
                                .power = readings.power,
                                .power_of_shape = readings.of_shape});
    if (engine::Status sent = sender.send(frame); !sent.ok()) return sent;
  }
  return {};
}

}  // namespace

engine::Status run_linear_bench(Backends& backends, std::uint64_t id,
                                const engine::BenchOrder& order, engine::RunProgress& progress,
                                FrameSender& sender) {
  engine::Result<LinearPlace> found = find_linear_place(backends, order.cpu);
  if (!found.ok()) return found.error();
  LinearPlace place = std::move(found).value();
  std::unique_ptr<PeerProcess> peer;
  if (!order.linear.peer.empty()) {
    engine::Result<std::unique_ptr<PeerProcess>> started = start_peer(order.linear.peer, progress);
    if (started.ok()) {
      peer = std::move(started).value();
      place.start.peer = peer->name();
    } else if (started.error().code == engine::ErrorCode::Cancelled) {
      return started.error();
    } else {
      place.start.peer_missing = started.error().message;
    }
  }
  BenchPower power(place.pci_bus_id);
  place.start.id = id;
  power.describe(place.start);
  wire::Frame frame;
  *frame.mutable_bench_started() = to_wire(place.start);
  if (engine::Status sent = sender.send(frame); !sent.ok()) return sent;
  std::vector<engine::LinearTarget*> targets = {place.target.get()};
  if (peer) targets.push_back(&peer->target());
  return engine::run_linear_bench(targets, order.linear, order.seconds, progress,
                                  [&](const std::vector<engine::MeasuredLinearRow>& rows) {
                                    return send_rows(rows, id, power, sender);
                                  });
}

}  // namespace app

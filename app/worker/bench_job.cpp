#include "app/worker/bench_job.h"

#include <memory>
#include <string>
#include <vector>

#include "app/protocol/bench_report.h"
#include "app/protocol/convert.h"
#include "app/worker/bench_power.h"
#include "app/worker/linear_bench_job.h"
#include "engine/bench/quantize_bench.h"
#ifdef EXPERTSCOPE_WITH_CUDA
#include "engine/device/device_facts.h"
#include "engine/model/backend_traits.h"
#endif

namespace app {
namespace {

using engine::GemmBackend;

struct Place {
  std::unique_ptr<engine::BenchTarget> target;
  engine::DeviceFacts device;
  std::string no_device;  // why it is the CPU, if the CPU was not asked for
};

engine::Result<Place> device_place() {
#ifdef EXPERTSCOPE_WITH_CUDA
  // Not the backend's slot: kernels alone need no cuBLASLt.
  engine::Result<engine::FoundDevice> found = engine::find_device();
  if (!found.ok()) return found.error();
  engine::Result<std::unique_ptr<engine::BenchTarget>> target = engine::make_cuda_bench_target();
  if (!target.ok()) return target.error();
  return Place{.target = std::move(target).value(),
               .device = std::move(found).value().facts,
               .no_device = {}};
#else
  return engine::Error{
      engine::ErrorCode::Unsupported,
      "this worker was built without CUDA; build it on a machine with a CUDA 13 toolkit"};
#endif
}

engine::Result<Place> find_place(Backends& backends, bool cpu) {
  const bool cpu_only = cpu || backends.choice() == BackendChoice::Cpu;
  std::string no_device;
  if (!cpu_only) {
    engine::Result<Place> place = device_place();
    if (place.ok() || backends.choice() == BackendChoice::Cuda) return place;
    no_device = place.error().message;
  }
  const engine::BackendSlot* slot = backends.slot_for(GemmBackend::CpuReference);
  if (slot == nullptr || engine::traits_of(slot->kind).device) {
    return engine::Error{engine::ErrorCode::Unsupported,
                         backends.why_not(GemmBackend::CpuReference)};
  }
  return Place{.target = engine::make_cpu_bench_target(),
               .device = slot->backend->device(),
               .no_device = std::move(no_device)};
}

engine::Status send_start(const Place& place, std::uint64_t id, const BenchPower& power,
                          FrameSender& sender) {
  const engine::BenchTarget& target = *place.target;
  BenchStart start{.id = id,
                   .device = place.device,
                   .runtime = target.runtime(),
                   .threads = target.threads(),
                   .no_device = place.no_device,
                   .time_method = target.time_method()};
  power.describe(start);
  wire::Frame frame;
  *frame.mutable_bench_started() = to_wire(start);
  return sender.send(frame);
}

engine::Status send_rows(const std::vector<engine::MeasuredRow>& rows, std::uint64_t id,
                         BenchPower& power, FrameSender& sender) {
  power.take();
  std::vector<engine::MeasuredSpan> all;
  for (const engine::MeasuredRow& measured : rows) {
    all.insert(all.end(), measured.spans.begin(), measured.spans.end());
  }
  for (const engine::MeasuredRow& measured : rows) {
    const BenchPower::Readings readings = power.of(measured.spans, all);
    wire::Frame frame;
    *frame.mutable_bench_row() = to_wire(BenchRowReport{.id = id,
                                                        .row = measured.row,
                                                        .power = readings.power,
                                                        .power_of_shape = readings.of_shape});
    if (engine::Status sent = sender.send(frame); !sent.ok()) return sent;
  }
  return {};
}

engine::Status run_quantize(Backends& backends, std::uint64_t id, const engine::BenchOrder& order,
                            engine::RunProgress& progress, FrameSender& sender) {
  const engine::Result<Place> place = find_place(backends, order.cpu);
  if (!place.ok()) return place.error();
  BenchPower power(place.value().target->pci_bus_id());
  if (engine::Status sent = send_start(place.value(), id, power, sender); !sent.ok()) return sent;
  return engine::run_quantize_bench(*place.value().target, order, progress,
                                    [&](const std::vector<engine::MeasuredRow>& measured) {
                                      return send_rows(measured, id, power, sender);
                                    });
}

}  // namespace

engine::Status run_bench(Backends& backends, std::uint64_t id, const engine::BenchOrder& order,
                         engine::RunProgress& progress, FrameSender& sender) {
  if (engine::Status limits = engine::validate(order); !limits.ok()) return limits;
  const engine::Status done = order.suite == engine::BenchSuite::Linear
                                  ? run_linear_bench(backends, id, order, progress, sender)
                                  : run_quantize(backends, id, order, progress, sender);
  if (!done.ok()) return done;
  wire::Frame frame;
  frame.mutable_bench_finished()->set_id(id);
  return sender.send(frame);
}

}  // namespace app

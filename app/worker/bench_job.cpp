// Benchmark orders: the quantize kernels against a copy, or steps interleaved with a peer, on the
// device or on the CPU.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/worker/handlers.h"
#include "app/worker/peer_process.h"
#include "engine/bench/quantize_bench.h"
#include "engine/bench/rounds.h"
#include "engine/bench/step_bench.h"
#include "engine/model/backend_traits.h"
#include "profiling/power/power_sampler.h"
#include "profiling/trace/replay_sums.h"
#ifdef EXPERTSCOPE_WITH_CUDA
#include "engine/device/device_facts.h"
#endif

namespace app {
namespace {

using engine::GemmBackend;

// ---- Clock and power ---------------------------------------------------------------------------

// NVML takes about a millisecond per reading. A row occupies the device for a small share of a
// shape's time, so readings must be closely spaced for some to fall into it.
constexpr std::chrono::milliseconds kPowerPeriod{10};

/// Sampled continuously, reported for the launches of each row.
class BenchPower {
 public:
  struct Readings {
    profiling::PowerSummary power;
    bool of_shape = false;  // none fell into the row's own launches
  };

  /// As NVML names the device; empty = not an NVIDIA device, so no readings.
  explicit BenchPower(const std::string& pci_bus_id);

  /// How it samples, or why it does not.
  void describe(BenchStart& start) const;
  /// A shape is done: all readings since the last call belong to it.
  void take();
  /// For the shape taken last: the readings in a row's spans, or in those of all its rows.
  Readings of(const std::vector<engine::MeasuredSpan>& row,
              const std::vector<engine::MeasuredSpan>& shape) const;

 private:
  profiling::PowerSampler sampler_;
  std::vector<profiling::PowerSample> samples_;
};

BenchPower::BenchPower(const std::string& pci_bus_id)
    : sampler_({.pci_bus_id = pci_bus_id, .period = kPowerPeriod}) {}

void BenchPower::describe(BenchStart& start) const {
  start.power_method = sampler_.power_method();
  start.power_missing = sampler_.reason();
  if (!sampler_.driver().empty()) start.device.driver = sampler_.driver();
}

void BenchPower::take() { samples_ = sampler_.take(); }

BenchPower::Readings BenchPower::of(const std::vector<engine::MeasuredSpan>& row,
                                    const std::vector<engine::MeasuredSpan>& shape) const {
  if (row.empty()) return {};
  std::vector<profiling::TimeSpan> spans;
  for (const auto& [begin, end] : row) spans.push_back({begin, end});
  Readings readings{.power = profiling::summarize_power(samples_, spans)};
  if (readings.power.samples > 0) return readings;
  profiling::TimeSpan whole{shape.front().begin_ns, shape.front().end_ns};
  for (const auto& [begin, end] : shape) {
    whole = {std::min(whole.begin_ns, begin), std::max(whole.end_ns, end)};
  }
  readings.power = profiling::summarize_power(samples_, {&whole, 1});
  readings.of_shape = readings.power.samples > 0;
  return readings;
}

// ---- Where it runs -----------------------------------------------------------------------------

template <class Target>
struct Place {
  std::unique_ptr<engine::ReplayTracer> tracer;  // outlives the target
  std::unique_ptr<Target> target;
  std::string pci_bus_id;  // empty = not an NVIDIA device
  BenchStart start;        // what is known of it
};
using KernelPlace = Place<engine::BenchTarget>;
using StepPlace = Place<engine::StepTarget>;

KernelPlace kernel_place(std::unique_ptr<engine::BenchTarget> target, engine::DeviceFacts device) {
  KernelPlace place;
  place.pci_bus_id = target->pci_bus_id();
  place.start = {.device = std::move(device),
                 .runtime = target->runtime(),
                 .threads = target->threads(),
                 .time_method = target->time_method()};
  place.target = std::move(target);
  return place;
}

KernelPlace kernels_on_cpu(const engine::DeviceFacts& cpu) {
  return kernel_place(engine::make_cpu_bench_target(), cpu);
}

StepPlace steps_on_cpu(const engine::DeviceFacts& cpu) {
  StepPlace place;
  place.target = engine::make_cpu_step_target();
  place.start = {
      .device = cpu, .threads = cpu.multiprocessors, .time_method = engine::kCpuStepTimes};
  return place;
}

#ifdef EXPERTSCOPE_WITH_CUDA
engine::Result<KernelPlace> kernels_on_device(Backends&) {
  // Not the backend's slot: kernels alone need no cuBLASLt.
  ENGINE_ASSIGN(engine::FoundDevice found, engine::find_device());
  ENGINE_ASSIGN(std::unique_ptr<engine::BenchTarget> target, engine::make_cuda_bench_target());
  return kernel_place(std::move(target), std::move(found).facts);
}

/// The worker's kernel recorder in the form a benchmark of steps needs: sums over each replay.
class KernelTracer final : public engine::ReplayTracer {
 public:
  explicit KernelTracer(profiling::ActivityCollector& collector) : collector_(collector) {}
  engine::StepObserver& observer() override { return collector_; }
  std::vector<engine::TracedReplay> take() override;

 private:
  profiling::ActivityCollector& collector_;
};

std::vector<engine::TracedReplay> KernelTracer::take() {
  // The graph that the recorder may have seen is not needed here.
  (void)collector_.take_snapshot();
  const bool complete = collector_.dropped() == 0;
  const profiling::Activity activity = collector_.take();
  if (!complete) return {};  // a sum with kernels missing would be too small
  std::vector<engine::TracedReplay> replays;
  for (const profiling::ReplaySum& sum : profiling::sum_replays(activity)) {
    replays.push_back({.iteration = sum.iteration,
                       .kernels_us = static_cast<double>(sum.device_ns) * 1e-3,
                       .replay_us = static_cast<double>(sum.span_ns) * 1e-3});
  }
  return replays;
}

engine::Result<StepPlace> steps_on_device(Backends& backends) {
  StepPlace place;
  place.start.kernels_missing = backends.no_activity_reason(GemmBackend::CublasLtGrouped);
  if (place.start.kernels_missing.empty()) {
    place.tracer =
        std::make_unique<KernelTracer>(backends.collector_for(GemmBackend::CublasLtGrouped));
  }
  ENGINE_ASSIGN(engine::CudaStepTarget made,
                engine::make_cuda_step_target(backends.cublaslt_path(), place.tracer.get()));
  place.target = std::move(made.target);
  place.pci_bus_id = engine::device_bus_id();
  place.start.device = std::move(made.device);
  place.start.runtime = engine::cuda_runtime_text();
  place.start.time_method = engine::kCudaStepTimes;
  return place;
}
#else
template <class Where>
engine::Result<Where> built_without_cuda(Backends& backends) {
  return engine::Error{engine::ErrorCode::Unsupported,
                       backends.unavailable_reason(GemmBackend::CublasLtGrouped)};
}
constexpr auto* kernels_on_device = built_without_cuda<KernelPlace>;
constexpr auto* steps_on_device = built_without_cuda<StepPlace>;
#endif

/// The device, unless the order or the worker wants the CPU; without a device the CPU, and why.
template <class Where>
engine::Result<Where> find_place(Backends& backends, bool cpu,
                                 engine::Result<Where> (*on_device)(Backends&),
                                 Where (*on_cpu)(const engine::DeviceFacts&)) {
  std::string no_device;
  if (!cpu && backends.choice() != BackendChoice::Cpu) {
    engine::Result<Where> place = on_device(backends);
    if (place.ok() || backends.choice() == BackendChoice::Cuda) return place;
    no_device = place.error().message;
  }
  const engine::BackendSlot* slot = backends.slot_for(GemmBackend::CpuReference);
  if (slot == nullptr || engine::traits_of(slot->kind).device) {
    return engine::Error{engine::ErrorCode::Unsupported,
                         backends.unavailable_reason(GemmBackend::CpuReference)};
  }
  Where place = on_cpu(slot->backend->device());
  place.start.no_device = std::move(no_device);
  return place;
}

// ---- Rows --------------------------------------------------------------------------------------

template <class Measured>
engine::Status send_rows(const OrderContext& context, BenchPower& power,
                         const std::vector<Measured>& rows) {
  power.take();
  std::vector<engine::MeasuredSpan> all;
  for (const Measured& measured : rows) {
    all.insert(all.end(), measured.spans.begin(), measured.spans.end());
  }
  for (const Measured& measured : rows) {
    const BenchPower::Readings readings = power.of(measured.spans, all);
    ENGINE_TRY(context.sender.answer(
        context.id,
        RowReport<decltype(measured.row)>{
            .row = measured.row, .power = readings.power, .power_of_shape = readings.of_shape}));
  }
  return {};
}

engine::Status send_start(const OrderContext& context, BenchStart start, const BenchPower& power) {
  power.describe(start);
  return context.sender.answer(context.id, std::move(start));
}

engine::Status time_kernels(const OrderContext& context, const engine::BenchOrder& order) {
  ENGINE_ASSIGN(KernelPlace found,
                find_place(context.backends, order.cpu, kernels_on_device, kernels_on_cpu));
  const KernelPlace& place = found;
  BenchPower power(place.pci_bus_id);
  ENGINE_TRY(send_start(context, place.start, power));
  return engine::run_quantize_bench(*place.target, order, context.progress,
                                    [&](const std::vector<engine::MeasuredRow>& rows) {
                                      return send_rows(context, power, rows);
                                    });
}

engine::Status time_steps(const OrderContext& context, const engine::BenchOrder& order) {
  ENGINE_ASSIGN(StepPlace found,
                find_place(context.backends, order.cpu, steps_on_device, steps_on_cpu));
  StepPlace& place = found;
  std::unique_ptr<PeerProcess> peer;
  if (!order.steps.peer.empty()) {
    engine::Result<std::unique_ptr<PeerProcess>> started =
        start_peer(order.steps.peer, context.progress);
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
  ENGINE_TRY(send_start(context, place.start, power));
  std::vector<engine::StepTarget*> targets = {place.target.get()};
  if (peer) targets.push_back(&peer->target());
  return engine::run_step_bench(targets, engine::step_of(order.suite), order.steps, order.seconds,
                                context.progress,
                                [&](const std::vector<engine::MeasuredStepRow>& rows) {
                                  return send_rows(context, power, rows);
                                });
}

}  // namespace

engine::Result<Answer> carry_out(const OrderContext& context, const engine::BenchOrder& order) {
  ENGINE_TRY(engine::times_steps(order.suite) ? time_steps(context, order)
                                              : time_kernels(context, order));
  return Answer(BenchDone{});
}

}  // namespace app

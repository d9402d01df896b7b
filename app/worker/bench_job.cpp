#include "app/worker/bench_job.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "app/protocol/bench_report.h"
#include "app/protocol/convert_bench.h"
#include "engine/bench/cpu_target.h"
#include "engine/bench/quantize_bench.h"
#include "profiling/power/power_sampler.h"
#ifdef EXPERTSCOPE_WITH_CUDA
#include "engine/bench/cuda_target.h"
#include "engine/device/device_facts.h"
#endif

namespace app {
namespace {

using engine::GemmBackend;

// A reading takes NVML about a millisecond. A row is on the device for a small share of a shape's
// time, so readings must be close together for some to fall into it.
constexpr std::chrono::milliseconds kPowerPeriod{10};

struct Place {
  std::unique_ptr<engine::BenchTarget> target;
  engine::DeviceFacts device;
  std::string no_device;  // why it is the CPU, if that was not asked for
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
  return engine::Error{engine::ErrorCode::Unsupported,
                       "this worker was built without CUDA; build it where a CUDA 13 toolkit is"};
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
  if (slot == nullptr || slot->kind != GemmBackend::CpuReference) {
    return engine::Error{engine::ErrorCode::Unsupported,
                         backends.why_not(GemmBackend::CpuReference)};
  }
  return Place{.target = engine::make_cpu_bench_target(),
               .device = slot->backend->device(),
               .no_device = std::move(no_device)};
}

std::vector<profiling::TimeSpan> spans_of(const engine::MeasuredRow& measured) {
  std::vector<profiling::TimeSpan> spans;
  for (const auto& [begin, end] : measured.spans) spans.push_back({begin, end});
  return spans;
}

/// From the first launch of the first round to the last of the last.
profiling::TimeSpan whole(const std::vector<engine::MeasuredRow>& rows) {
  return {rows.front().spans.front().begin_ns, rows.back().spans.back().end_ns};
}

class BenchSender {
 public:
  BenchSender(std::uint64_t id, const engine::BenchTarget& target, FrameSender& sender)
      : id_(id), sender_(sender) {
    if (target.pci_bus_id().empty()) {
      power_missing_ = "clock and power are read from NVIDIA devices only";
      return;
    }
    sampler_ = std::make_unique<profiling::PowerSampler>(profiling::PowerSampler::Options{
        .pci_bus_id = target.pci_bus_id(), .period = kPowerPeriod});
    power_missing_ = sampler_->reason();
  }

  engine::Status started(const Place& place) {
    const engine::BenchTarget& target = *place.target;
    BenchStart start{.id = id_,
                     .device = place.device,
                     .runtime = target.runtime(),
                     .threads = target.threads(),
                     .no_device = place.no_device,
                     .time_method = target.time_method(),
                     .power_method = sampler_ ? sampler_->power_method() : std::string(),
                     .power_missing = power_missing_};
    if (sampler_ && !sampler_->driver().empty()) start.device.driver = sampler_->driver();
    wire::Frame frame;
    *frame.mutable_bench_started() = to_wire(start);
    return sender_.send(frame);
  }

  engine::Status rows(const std::vector<engine::MeasuredRow>& rows) {
    std::vector<profiling::PowerSample> samples;
    if (sampler_) samples = sampler_->take();
    const profiling::TimeSpan all = whole(rows);
    for (const engine::MeasuredRow& measured : rows) {
      BenchRowReport report{.id = id_, .row = measured.row, .power = {}};
      report.power = profiling::summarize_power(samples, spans_of(measured));
      if (report.power.samples == 0) {
        report.power = profiling::summarize_power(samples, {&all, 1});
        report.power_of_shape = report.power.samples > 0;
      }
      wire::Frame frame;
      *frame.mutable_bench_row() = to_wire(report);
      if (engine::Status sent = sender_.send(frame); !sent.ok()) return sent;
    }
    return {};
  }

 private:
  const std::uint64_t id_;
  FrameSender& sender_;
  std::unique_ptr<profiling::PowerSampler> sampler_;
  std::string power_missing_;
};

}  // namespace

engine::Status run_bench(Backends& backends, std::uint64_t id, const engine::BenchOrder& order,
                         engine::RunProgress& progress, FrameSender& sender) {
  if (engine::Status limits = engine::validate(order); !limits.ok()) return limits;
  const engine::Result<Place> place = find_place(backends, order.cpu);
  if (!place.ok()) return place.error();
  engine::BenchTarget& target = *place.value().target;
  BenchSender rows(id, target, sender);
  if (engine::Status sent = rows.started(place.value()); !sent.ok()) return sent;
  if (engine::Status done =
          engine::run_quantize_bench(target, order, progress,
                                     [&rows](const std::vector<engine::MeasuredRow>& measured) {
                                       return rows.rows(measured);
                                     });
      !done.ok()) {
    return done;
  }
  wire::Frame frame;
  frame.mutable_bench_finished()->set_id(id);
  return sender.send(frame);
}

}  // namespace app

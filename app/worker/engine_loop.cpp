#include "app/worker/engine_loop.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <exception>
#include <new>

#include "app/protocol/convert.h"
#include "app/worker/bench_job.h"
#include "app/worker/doctor_job.h"
#include "app/worker/quantize_dump.h"
#include "engine/backend/cpu/amax_history.h"
#include "engine/model/backend_traits.h"

namespace app {
namespace {

std::vector<engine::Deviation> deviations_of(const engine::RunRequest& requested,
                                             const engine::BackendSlot& slot,
                                             const std::string& why_not) {
  std::vector<engine::Deviation> deviations;
  if (engine::traits_of(slot.kind).device != engine::traits_of(requested.backend).device) {
    deviations.push_back({.field = "backend",
                          .requested = std::string(engine::name_of(requested.backend)),
                          .effective = std::string(engine::name_of(slot.kind)),
                          .reason = why_not});
  }
  return deviations;
}

/// Both CUDA backends live in one slot; the CPU's slot serves only its own.
engine::GemmBackend served_by(const engine::BackendSlot& slot, engine::GemmBackend requested) {
  return engine::traits_of(slot.kind).device == engine::traits_of(requested).device ? requested
                                                                                    : slot.kind;
}

/// The library named by the order. A new kind of order must say here which request names its
/// library.
const std::string& library_named_by(const Job& job) {
  struct Named {
    const std::string& operator()(const engine::RunRequest& order) const {
      return order.cublaslt_library;
    }
    const std::string& operator()(const QuantizeOrder& order) const {
      return order.request.cublaslt_library;
    }
    const std::string& operator()(const engine::ComparisonRequest& order) const {
      return order.request.cublaslt_library;
    }
    const std::string& operator()(const engine::AmaxHistoryRequest& order) const {
      return order.request.cublaslt_library;
    }
    const std::string& operator()(const DoctorOrder& order) const {
      return order.request.cublaslt_library;
    }
    const std::string& operator()(const engine::BenchOrder&) const {
      static const std::string kNone;  // the library the worker was started with
      return kNone;
    }
  };
  return std::visit(Named{}, job.order);
}

}  // namespace

void EngineLoop::run(const BackendOptions& options, IdleReadings& readings,
                     const std::function<void(const WorkerHello&)>& ready) {
  Backends backends(options);
  readings.set_device(backends.device_bus_id(), backends.no_device());
  ready(backends.hello());
  while (const std::optional<Job> job = jobs_.wait_next()) {
    perform(backends, *job);
    jobs_.finished();
  }
}

engine::Status EngineLoop::execute(Backends& backends, const Job& job) {
  if (const auto* request = std::get_if<engine::RunRequest>(&job.order)) {
    return run_request(backends, job.id, *request);
  }
  if (const auto* comparison = std::get_if<engine::ComparisonRequest>(&job.order)) {
    return compare(backends, job.id, *comparison);
  }
  if (const auto* history = std::get_if<engine::AmaxHistoryRequest>(&job.order)) {
    return step_history(job.id, *history);
  }
  if (const auto* bench = std::get_if<engine::BenchOrder>(&job.order)) {
    return run_bench(backends, job.id, *bench, progress_, sender_);
  }
  if (const auto* doctor = std::get_if<DoctorOrder>(&job.order)) {
    return run_doctor(backends, job.id, *doctor, {.progress = progress_, .board = board_}, sender_);
  }
  return dump(job.id, std::get<QuantizeOrder>(job.order));
}

void EngineLoop::perform(Backends& backends, const Job& job) {
  engine::Status status;
  // Third-party code below may throw; an order that fails must not take the worker with it.
  try {
    status = backends.check_library(library_named_by(job), job.allowed_libraries);
    if (status.ok()) status = execute(backends, job);
  } catch (const std::bad_alloc&) {
    status =
        engine::Error{engine::ErrorCode::OutOfMemory,
                      "the host does not have enough memory for this request; use fewer tokens, "
                      "experts or layers"};
  } catch (const std::exception& exception) {
    status = engine::Error{engine::ErrorCode::Internal, exception.what()};
  }
  if (status.ok() || sender_.broken()) return;
  wire::Frame frame;
  *frame.mutable_failed() = to_wire(RunError{.id = job.id, .error = status.error()});
  static_cast<void>(sender_.send(frame).ok());  // broken: the reader ends the worker
}

engine::Status EngineLoop::dump(std::uint64_t id, const QuantizeOrder& order) {
  engine::Result<std::vector<std::string>> files = dump_quantized(order);
  if (!files.ok()) return files.error();
  wire::Frame frame;
  *frame.mutable_quantize_finished() =
      to_wire(QuantizeDone{.id = id, .files = std::move(files).value()});
  return sender_.send(frame);
}

engine::Status EngineLoop::compare(Backends& backends, std::uint64_t id,
                                   engine::ComparisonRequest request) {
  if (engine::Status limits = engine::validate(request); !limits.ok()) return limits;
  engine::BackendSlot* slot = backends.slot_for(request.request.backend);
  if (slot == nullptr) {
    return engine::Error{engine::ErrorCode::Unsupported, backends.why_not(request.request.backend)};
  }
  request.request.backend = served_by(*slot, request.request.backend);
  profiling::ActivityCollector& collector = backends.collector_for(slot->kind);
  engine::Result<engine::RecipeComparison> comparison =
      slot->backend->compare(request, {.progress = progress_, .observer = collector});
  if (!comparison.ok()) return comparison.error();
  comparison.value().id = id;
  wire::Frame frame;
  frame.mutable_comparison_finished()->set_id(id);
  *frame.mutable_comparison_finished()->mutable_comparison() = to_wire(comparison.value());
  return sender_.send(frame);
}

engine::Status EngineLoop::step_history(std::uint64_t id,
                                        const engine::AmaxHistoryRequest& request) {
  if (engine::Status limits = engine::validate(request); !limits.ok()) return limits;
  engine::Result<engine::AmaxHistory> history = engine::step_amax_history(request, progress_);
  if (!history.ok()) return history.error();
  history.value().id = id;
  wire::Frame frame;
  frame.mutable_history_finished()->set_id(id);
  *frame.mutable_history_finished()->mutable_history() = to_wire(history.value());
  return sender_.send(frame);
}

engine::Status EngineLoop::run_request(Backends& backends, std::uint64_t id,
                                       engine::RunRequest request) {
  if (engine::Status limits = engine::validate(request); !limits.ok()) return limits;
  engine::BackendSlot* slot = backends.slot_for(request.backend);
  if (slot == nullptr) {
    return engine::Error{engine::ErrorCode::Unsupported, backends.why_not(request.backend)};
  }
  std::vector<engine::Deviation> deviations =
      deviations_of(request, *slot, backends.why_not(request.backend));
  request.backend = served_by(*slot, request.backend);

  profiling::ActivityCollector& collector = backends.collector_for(slot->kind);
  RunPower& power = backends.power_for(slot->kind);
  const engine::Result<std::unique_ptr<engine::ReplayWatch>> watch =
      guard_.watch(backends, *slot, id, request);
  if (!watch.ok()) return watch.error();
  power.begin();
  engine::Result<engine::RunResult> outcome = slot->backend->run(
      request, {.progress = progress_, .observer = collector, .replays = watch.value().get()});
  const profiling::PowerTrace readings = power.end(progress_.timed_since_ns);
  profiling::Activity activity = collector.take();
  profiling::Snapshot snapshot = collector.take_snapshot();
  dropped_records_ = collector.dropped();
  if (!outcome.ok()) return outcome.error();

  engine::RunResult& result = outcome.value();
  result.id = id;
  result.deviations.insert(result.deviations.begin(), deviations.begin(), deviations.end());
  const std::string no_activity = backends.no_activity_reason(slot->kind);
  // The backend has described how records were made; only the worker knows why there are none.
  if (!no_activity.empty()) result.activity_method = "none: " + no_activity;
  if (activity.records.size() > kMaxActivityRecords) {
    // More than a window accepts: the earliest are kept, and the rest are reported as dropped.
    result.dropped_records += activity.records.size() - kMaxActivityRecords;
    activity.records.resize(kMaxActivityRecords);
  }
  describe_run(snapshot, result.device);
  return send_result(
      id, {.result = result, .activity = activity, .snapshot = snapshot, .power = readings});
}

engine::Status EngineLoop::send_result(std::uint64_t id, const Observed& run) {
  const profiling::Activity& activity = run.activity;
  // The first chunk carries names and nodes, so it is sent even without records.
  const std::size_t length = chunked_length(activity);
  for (std::size_t first = 0; first == 0 || first < length; first += kMaxChunkRecords) {
    wire::Frame frame;
    *frame.mutable_activity() = make_activity_chunk(id, activity, first);
    if (engine::Status sent = sender_.send(frame); !sent.ok()) return sent;
  }
  wire::Frame frame;
  frame.mutable_finished()->set_id(id);
  *frame.mutable_finished()->mutable_result() = to_wire(run.result);
  *frame.mutable_finished()->mutable_power() = to_wire(run.power);
  if (!run.snapshot.graphs.empty()) {
    *frame.mutable_finished()->mutable_snapshot() = to_wire(run.snapshot);
  }
  return sender_.send(frame);
}

}  // namespace app

// Upload, warm up, time (eager or as a graph), measure. Errors and cancellation are returned as
// Status.
#include "engine/backend/cuda/cuda_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "engine/backend/cuda/step_setup.h"
#include "engine/device/device_facts.h"
#include "engine/input/routing.h"
#include "engine/layer/layer_numerics.h"
#include "engine/linear/iteration_clock.h"
#include "engine/linear/output_check.h"
#include "engine/linear/replay_watchdog.h"
#include "engine/linear/step_measurements.h"
#include "engine/linear/step_numerics.h"
#include "engine/model/clock.h"
#include "engine/model/out_of_memory.h"
#include "engine/model/stopping_rule.h"
#include "engine/observe/scopes.h"

namespace engine {
namespace {

constexpr int kWarmUps = 2;
constexpr int kVerifiedReplays = 6;  // the hazards known so far show by replay 5
// CUDA loads kernels lazily and cuBLASLt has large ones; they need room next to the buffers.
constexpr std::int64_t kModuleReserveBytes = std::int64_t{512} << 20;
// RunProgress::fraction at the end of each part.
constexpr double kTimedShare = 0.9;

class CudaRun {
 public:
  CudaRun(const CudaRunResources& resources, RunContext context, RunResult& result)
      : resources_(resources), context_(context), result_(result), request_(result.effective) {}

  Status run() {
    context_.progress.iteration.store(-1);
    context_.progress.timed_since_ns.store(0);
    ENGINE_ASSIGN(const GroupedShape shape, resolve_shape(request_));
    result_.splits = shape.splits;
    result_.backward = request_.linear.passes != StepPasses::Forward;
    plan_ = plan_step(result_, shape, resources_.capability);
    result_.flop = step_flop(request_, result_.splits);
    ENGINE_TRY(check_memory());
    {
      ObservedRun observed(context_.observer);
      context_.observer.set_trace(request_.measure.trace);
      ENGINE_TRY(make_step());
      ENGINE_TRY(time_iterations());
      ENGINE_CUDA_TRY(cudaDeviceSynchronize(), "Waiting for the last iteration");
    }
    ENGINE_TRY(step_->check_splits(resources_.stream));
    ENGINE_TRY(poll_cancel());
    ENGINE_TRY(measure());
    return measure_more();
  }

 private:
  void enter(Stage stage, double fraction) {
    context_.progress.stage.store(static_cast<int>(stage));
    context_.progress.fraction.store(fraction);
  }

  Status poll_cancel() const {
    if (!context_.progress.cancel.load()) return {};
    return Error{ErrorCode::Cancelled, "The run was cancelled"};
  }

  Status check_memory() {
    const std::int64_t needed = resources_.operands.keep_only(plan_.operand_keys()) +
                                plan_.step_bytes() + plan_.numerics_bytes() + kModuleReserveBytes;
    ENGINE_ASSIGN(const std::int64_t available, free_device_memory());
    if (needed <= available) return {};
    return out_of_memory("this run needs", needed, available,
                         "use fewer tokens, experts or layers, or a smaller n or k",
                         "device memory");
  }

  Status make_step() {
    enter(Stage::Memory, 0.0);
    ENGINE_ASSIGN(built_, build_step(result_, plan_, resources_.library, resources_.operands,
                                     resources_.stream, context_));
    step_ = built_.step.get();
    ENGINE_ASSIGN(check_, OutputCheck::create(*step_));
    return step_->write_splits(result_.splits, resources_.stream);
  }

  Status launch_step() {
    const auto call = [&] { return step_->launch(resources_.stream, context_.observer); };
    if (context_.replays == nullptr) return call();
    const std::int64_t start = steady_ns();
    const LaunchScope scope(*context_.replays, {.graph = false,
                                                .number = eager_.replays() + 1,
                                                .deadline_seconds = eager_.seconds(),
                                                .p99_seconds = eager_.p99_seconds()});
    const Status launched = call();
    eager_.add(static_cast<double>(steady_ns() - start) * 1e-9);
    return launched;
  }

  Status time_iterations() {
    enter(Stage::Other, kUploadShare);
    ENGINE_TRY(step_->prepare(resources_.stream, context_.observer));
    for (int i = 0; i < kWarmUps; ++i) ENGINE_TRY(launch_step());
    ENGINE_CUDA_TRY(cudaStreamSynchronize(resources_.stream), "Warming up");
    ENGINE_TRY(poll_cancel());
    ENGINE_TRY(choose_algorithms());
    if (request_.launch.kind == LaunchKind::GraphReplay) return replay();
    result_.iteration_method = iteration_method("each eager step");
    ENGINE_TRY(timed_loop([&] { return launch_step(); }, nullptr));
    return meter_observer(nullptr, nullptr);
  }

  std::string iteration_method(const char* around) const {
    const MeasureOptions& measure = request_.measure;
    return fmt::format("CUDA events around {}{}{}{}", around,
                       measure.cache == CacheMode::Cold ? ", cold L2 cache" : "",
                       measure.pace == Pace::Burst ? ", after 50 ms of rest" : "",
                       result_.watch.markers > 0 ? ", one at a time and with markers" : "");
  }

  Status meter_observer(const Graph* graph, ReplayWatchdog* watchdog) {
    if (!request_.measure.observer) return {};
    enter(Stage::Check, kTimedShare);
    ENGINE_ASSIGN(
        result_.measurements.observer,
        measure_observer(
            context_.observer, resources_.stream, graph, watchdog, [&] { return launch_step(); },
            [&] { return context_.progress.cancel.load(); }));
    return {};
  }

  Status choose_algorithms() {
    if (!request_.try_algorithms) return {};
    const WorkScope scope(context_.observer, {.stage = Stage::Check});
    ENGINE_ASSIGN(const std::vector<ProductTrial> trials, step_->try_candidates(resources_.stream));
    const int of_first_layer = static_cast<int>(plan_.parts.size());
    for (const auto& [layer, product, trial] : trials) {
      if (layer >= of_first_layer || trial.candidates == 0) continue;
      result_.algorithms.push_back({.layer = layer,
                                    .product = product,
                                    .candidates = trial.candidates,
                                    .chosen = trial.chosen,
                                    .first_us = trial.first_us,
                                    .chosen_us = trial.chosen_us});
    }
    return {};
  }

  Status replay() {
    ENGINE_TRY(step_->keep_weights(false, resources_.stream));
    ENGINE_ASSIGN(const std::vector<std::uint64_t> eager, checked([&] { return launch_step(); }));
    const Result<Graph> graph = capture(resources_.stream, [&] { return launch_step(); });
    if (!graph.ok()) return graph.error();
    context_.observer.graph_captured(graph.value().get());
    ENGINE_ASSIGN(result_.graph, count_nodes(graph.value().get()));
    ENGINE_TRY(watch_replays(graph.value()));
    ReplayWatchdog* const watchdog = watchdog_ ? &*watchdog_ : nullptr;
    ENGINE_ASSIGN(const GraphExec exec, instantiate(graph.value()));
    std::vector<double> host_ns;
    const auto call = [&] {
      return check_cuda(cudaGraphLaunch(exec.get(), resources_.stream), "Launching the graph");
    };
    const auto launch = [&] {
      const std::int64_t start = steady_ns();
      const Status launched = watchdog == nullptr ? call() : watchdog->launch(call);
      host_ns.push_back(static_cast<double>(steady_ns() - start));
      return launched;
    };
    const std::vector<StepOutput> outputs = step_->all_outputs();
    const int verified = std::min(request_.launch.iterations, kVerifiedReplays);
    ENGINE_ASSIGN(IterationClock clock, IterationClock::create(watchdog));
    const auto launch_to_end = [&]() -> Status {
      ENGINE_TRY(clock.begin(resources_.stream));
      ENGINE_TRY(launch());
      ENGINE_TRY(clock.end(resources_.stream));
      return clock.finish();
    };
    for (int replay = 1; replay <= verified; ++replay) {
      ENGINE_TRY(poll_cancel());
      ENGINE_ASSIGN(const std::vector<std::uint64_t> sums, checked(launch_to_end));
      for (ReplayCheck& row : compare_checksums(replay, outputs, eager, sums)) {
        result_.replay_checks.push_back(std::move(row));
      }
    }
    result_.iteration_method = iteration_method("each graph launch");
    host_ns.clear();
    const Status timed = timed_loop(launch, watchdog);
    // The executable graph must outlive its launches, also when the loop was cancelled.
    ENGINE_CUDA_TRY(cudaStreamSynchronize(resources_.stream), "Waiting for the last replay");
    if (!host_ns.empty()) {
      result_.graph.host_launch_ns = std::llround(quantile_of(std::move(host_ns), 0.5));
    }
    ENGINE_TRY(timed);
    ENGINE_TRY(meter_observer(&graph.value(), watchdog));
    if (watchdog_) result_.watch = watchdog_->facts();
    return {};
  }

  /// Before the graph is instantiated: what to record of its replays.
  Status watch_replays(const Graph& graph) {
    if (context_.replays == nullptr) return {};
    ENGINE_ASSIGN(const int markers, context_.replays->captured(graph.get()));
    watchdog_.emplace(request_.launch.deadline_factor, markers, *context_.replays);
    result_.watch = watchdog_->facts();
    return {};
  }

  /// Poison, launch, checksums: earlier results cannot be taken for this launch's output.
  template <class Launch>
  Result<std::vector<std::uint64_t>> checked(Launch&& launch) {
    {
      const WorkScope scope(context_.observer, {.stage = Stage::Check});
      ENGINE_TRY(check_.poison(*step_, resources_.stream));
    }
    ENGINE_TRY(launch());
    const WorkScope scope(context_.observer, {.stage = Stage::Check});
    return check_.checksums(*step_, resources_.stream);
  }

  template <class Launch>
  Status timed_loop(Launch&& launch, ReplayWatchdog* watchdog) {
    ENGINE_ASSIGN(IterationClock clock, IterationClock::create(watchdog));
    ENGINE_ASSIGN(const IterationConditions conditions,
                  IterationConditions::create(request_.measure));
    enter(Stage::Fprop, kUploadShare);
    StoppingRule rule(request_.launch);
    const int micro_batches = request_.linear.micro_batches;
    context_.progress.iterations.store(rule.expected());
    const std::int64_t begun_ns = steady_ns();
    Status status;
    for (int i = 0; status.ok() && rule.goes_on(i, clock.so_far(), steady_ns() - begun_ns); ++i) {
      status = poll_cancel();
      if (!status.ok()) break;
      if (i == request_.measure.traced_iterations) {
        // No work may be running when the trace ends.
        ENGINE_TRY(clock.finish());
        ENGINE_CUDA_TRY(cudaStreamSynchronize(resources_.stream), "Ending the trace");
        context_.observer.set_trace(TraceLevel::Off);
      }
      if (conditions.rests()) ENGINE_TRY(clock.finish());
      ENGINE_TRY(before_iteration(conditions));
      if (i == 0) context_.progress.timed_since_ns.store(steady_ns());
      const IterationScope scope(context_.observer, i);
      if (micro_batches > 1) {
        ENGINE_TRY(step_->keep_weights(i % micro_batches != 0, resources_.stream));
      }
      ENGINE_TRY(clock.begin(resources_.stream));
      status = launch();
      ENGINE_TRY(clock.end(resources_.stream));
      context_.progress.iteration.store(clock.finished());
      context_.progress.iterations.store(rule.expected());
      const double done = rule.fraction(clock.finished(), steady_ns() - begun_ns);
      context_.progress.fraction.store(kUploadShare + (kTimedShare - kUploadShare) * done);
    }
    ENGINE_TRY(clock.finish());
    ENGINE_TRY(status);
    result_.iterations = clock.take();
    result_.iteration_end = rule.end();
    return {};
  }

  Status before_iteration(const IterationConditions& conditions) {
    if (!conditions.any()) return {};
    const WorkScope scope(context_.observer, {.stage = Stage::Check});
    return conditions.before(resources_.stream);
  }

  /// Measurements requested beyond the iterations. Last, because they overwrite the step's outputs.
  Status measure_more() {
    const MeasureOptions& wanted = request_.measure;
    std::vector<ExpertTiming>& experts = result_.measurements.experts;
    const auto take = [&](const char* what, Result<std::vector<ExpertTiming>> timings) -> Status {
      if (timings.ok()) {
        experts.insert(experts.end(), timings.value().begin(), timings.value().end());
        return {};
      }
      if (timings.error().code != ErrorCode::Unsupported) return timings.error();
      result_.deviations.push_back({.field = what,
                                    .requested = "on",
                                    .effective = "not measured",
                                    .reason = timings.error().message});
      return {};
    };
    if (wanted.stamps) {
      ENGINE_TRY(take("measure.stamps", time_experts_by_stamps(first_part(), resources_.stream)));
    }
    if (wanted.isolated) {
      const auto cancelled = [&] { return context_.progress.cancel.load(); };
      ENGINE_TRY(take("measure.isolated", isolated_experts(cancelled)));
    }
    if (wanted.ceilings) {
      ENGINE_ASSIGN(result_.measurements.ceilings,
                    measure_ceilings(first_part(), resources_.stream));
    }
    context_.progress.fraction.store(1.0);
    return {};
  }

  /// X's quantization and, of a layer, the up projection.
  const GroupedStep& first_part() const {
    return built_.layer != nullptr ? built_.layer->up() : *built_.linear;
  }

  Result<std::vector<ExpertTiming>> isolated_experts(const std::function<bool()>& cancelled) {
    if (built_.linear != nullptr) {
      return time_isolated_experts(*built_.linear, result_.splits, resources_.stream, cancelled);
    }
    return Error{ErrorCode::Unsupported,
                 "One expert alone is timed in a linear step only: choose it"};
  }

  Status measure() {
    enter(Stage::Check, kTimedShare);
    if (request_.linear.accumulate_wgrad) {
      // The statistics are for the dW of one step, whatever the iterations accumulated.
      StepObserver unobserved;
      ENGINE_TRY(check_.poison(*step_, resources_.stream));
      ENGINE_TRY(step_->launch(resources_.stream, unobserved));
    }
    if (built_.layer != nullptr) {
      ENGINE_TRY(measure_layer_numerics(*built_.layer, resources_.stream, result_));
      context_.progress.fraction.store(1.0);
      return {};
    }
    ENGINE_ASSIGN(StepNumerics numerics,
                  measure_numerics(*built_.linear, result_.splits, resources_.stream));
    result_.activations = std::move(numerics.activations);
    result_.weights = std::move(numerics.weights);
    result_.gradients = std::move(numerics.gradients);
    result_.experts = std::move(numerics.experts);
    if (!numerics.no_reference.empty()) {
      result_.deviations.push_back({.field = "experts",
                                    .requested = "error against the unquantized product",
                                    .effective = "not measured",
                                    .reason = std::move(numerics.no_reference)});
    }
    context_.progress.fraction.store(1.0);
    return {};
  }

  const CudaRunResources& resources_;
  RunContext context_;
  RunResult& result_;
  const RunRequest& request_;
  StepPlan plan_;
  BuiltStep built_;
  DeviceStep* step_ = nullptr;  // of built_
  OutputCheck check_;
  ReplayDeadline eager_{request_.launch.deadline_factor};  // of launches without a graph
  std::optional<ReplayWatchdog> watchdog_;                 // none = replays have no deadline
};

}  // namespace

Status run_on_device(const CudaRunResources& resources, RunContext context, RunResult& result) {
  return CudaRun(resources, context, result).run();
}

}  // namespace engine

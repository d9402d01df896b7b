// Upload, warm up, time (eager or as a graph), measure. Errors and cancellation are returned as
// Status.
#include "engine/backend/cuda/cuda_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "engine/backend/cuda/requested_measurements.h"
#include "engine/backend/cuda/step_capture.h"
#include "engine/backend/cuda/step_setup.h"
#include "engine/device/device_facts.h"
#include "engine/input/operand_fit.h"
#include "engine/input/routing.h"
#include "engine/layer/layer_numerics.h"
#include "engine/linear/iteration_clock.h"
#include "engine/linear/output_check.h"
#include "engine/linear/recorded_splits.h"
#include "engine/linear/replay_watchdog.h"
#include "engine/linear/step_measurements.h"
#include "engine/linear/step_numerics.h"
#include "engine/linear/step_replay.h"
#include "engine/model/clock.h"
#include "engine/model/out_of_memory.h"
#include "engine/model/stopping_rule.h"
#include "engine/model/weight_reuse.h"
#include "engine/observe/scopes.h"

namespace engine {
namespace {

constexpr int kWarmUps = 2;
constexpr int kTimedGraphReplays = 20;
constexpr int kVerifiedReplays = 6;  // the hazards known so far show by replay 5
// CUDA loads kernels lazily and cuBLASLt has large ones; they need room next to the buffers.
constexpr std::int64_t kModuleReserveBytes = std::int64_t{512} << 20;
// RunProgress::fraction at the end of each part.
constexpr double kTimedShare = 0.9;
constexpr double kMeasuredShare = 0.95;

class CudaRun {
 public:
  CudaRun(const CudaRunResources& resources, RunContext context, RunResult& result)
      : resources_(resources), context_(context), result_(result), request_(result.effective) {}

  Status run() {
    context_.progress.iteration.store(-1);
    context_.progress.timed_since_ns.store(0);
    ENGINE_ASSIGN(ResolvedRouting routing, resolve_routing(request_));
    ENGINE_TRY(check_operand_files(request_));
    result_.splits = routing.shape.splits;
    result_.backward = request_.products.passes != StepPasses::Forward;
    result_.recorded_routing = std::move(routing.recorded);
    tokens_ = std::move(routing.tokens);
    ENGINE_TRY(take_steps());
    plan_ = plan_step(result_, routing.shape, resources_.capability);
    if (plan_.layer) plan_.layer->tokens = tokens_;
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
    result_.flop = flop_of_row(request_) * in_flight() *
                   mean_rows(result_.splits, result_.recorded_routing,
                             result_.iterations.size() * static_cast<std::size_t>(in_flight()));
    ENGINE_TRY(measure());
    ENGINE_TRY(measure_requested(
        built_, resources_.stream, [&] { return context_.progress.cancel.load(); }, result_));
    ENGINE_TRY(measure_steps());
    context_.progress.fraction.store(1.0);
    return {};
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

  /// The splits that iterations have in turn; of a captured step that keeps those of its capture,
  /// one step's.
  Status take_steps() {
    std::vector<std::vector<std::int64_t>> steps = {result_.splits};
    if (result_.recorded_routing) {
      keep_captured_step(result_);
      visit_steps_equally(result_, result_.recorded_routing->steps.size());
      steps.clear();
      for (const RecordedStep& step : result_.recorded_routing->steps) steps.push_back(step.splits);
    }
    ENGINE_ASSIGN(splits_,
                  RecordedSplits::create(std::move(steps), request_.int32_splits, tokens_.get()));
    return {};
  }

  bool several_steps() const { return splits_.size() > 1; }
  int in_flight() const { return request_.launch.in_flight; }

  /// Between launches: the micro-batches of the next one have the splits of the recorded steps from
  /// `index` times their number on.
  Status route(std::size_t index) {
    const auto count = static_cast<std::size_t>(step_->micro_batches());
    for (std::size_t number = 0; number < count; ++number) {
      ENGINE_TRY(route(step_->micro_batch(static_cast<int>(number)), index * count + number,
                       context_.observer));
    }
    return {};
  }
  /// `of` has the splits of recorded step `index`. What forward saved for a backward-only step is
  /// made anew, for these rows. Enqueues only, except with one matmul per expert, where no launch
  /// may be running.
  Status route(DeviceStep& of, std::size_t index, StepObserver& observer) {
    const WorkScope scope(observer, {.stage = Stage::Memory});
    const std::size_t step = index % splits_.size();
    if (traits_of(request_.backend).one_launch) {
      ENGINE_TRY(splits_.enqueue(step, of, resources_.stream));
    } else {
      ENGINE_CUDA_TRY(cudaStreamSynchronize(resources_.stream), "Waiting for a step");
      ENGINE_TRY(of.route(splits_.of(step), step, resources_.stream));
    }
    if (request_.products.passes != StepPasses::Backward) return {};
    return of.prepare(resources_.stream, observer);
  }

  Status make_step() {
    enter(Stage::Memory, 0.0);
    ENGINE_ASSIGN(built_, build_step(result_, plan_, resources_.library, resources_.operands,
                                     resources_.stream, context_));
    step_ = built_.step.get();
    if (const GraphMemory* memory = step_->graph_memory(); memory != nullptr) {
      result_.graph_memory = memory->facts();
    }
    ENGINE_ASSIGN(check_, OutputCheck::create(*step_));
    return step_->write_splits(result_.splits, resources_.stream);
  }

  Status launch_step() {
    return launch_watched([&] { return step_->launch(resources_.stream, context_.observer); });
  }

  template <class Call>
  Status launch_watched(Call&& call) {
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
    ENGINE_TRY(back_to_first_step([&] { return launch_step(); }));
    return meter_observer({}, nullptr);
  }

  /// Everything after the timed iterations is about the first step.
  template <class Launch>
  Status back_to_first_step(Launch&& launch) {
    if (!several_steps()) return {};
    ENGINE_TRY(route(0));
    return launch();
  }

  std::string iteration_method(const char* around) const {
    const MeasureOptions& measure = request_.measure;
    return fmt::format("CUDA events around {}{}{}{}", around,
                       measure.cache == CacheMode::Cold ? ", cold L2 cache" : "",
                       measure.pace == Pace::Burst ? ", after 50 ms of rest" : "",
                       result_.watch.markers > 0 ? ", one at a time and with markers" : "");
  }

  Status meter_observer(std::span<const Graph> graphs, ReplayWatchdog* watchdog) {
    if (!request_.measure.observer) return {};
    enter(Stage::Check, kTimedShare);
    ENGINE_ASSIGN(
        result_.measurements.observer,
        measure_observer(
            context_.observer, resources_.stream, graphs, watchdog, [&] { return launch_step(); },
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
    const int verified = std::min(request_.launch.iterations, kVerifiedReplays);
    std::vector<std::vector<std::uint64_t>> eager;
    for (std::size_t step = 0; step < verified_steps(verified); ++step) {
      if (several_steps()) ENGINE_TRY(route(step));
      ENGINE_ASSIGN(std::vector<std::uint64_t> sums, checked([&] { return launch_step(); }));
      eager.push_back(std::move(sums));
    }
    ENGINE_ASSIGN(const std::vector<Graph> graphs, capture_graphs());
    ReplayWatchdog* const watchdog = watchdog_ ? &*watchdog_ : nullptr;
    ENGINE_ASSIGN(const StepReplay step_replay, StepReplay::create(graphs));
    std::vector<double> host_ns;
    const auto call = [&] { return step_replay.launch(resources_.stream); };
    const auto launch = [&] {
      const std::int64_t start = steady_ns();
      const Status launched = watchdog == nullptr ? call() : watchdog->launch(call);
      host_ns.push_back(static_cast<double>(steady_ns() - start));
      return launched;
    };
    const std::vector<StepOutput> outputs = step_->all_outputs();
    ENGINE_ASSIGN(IterationClock clock, IterationClock::create(watchdog));
    const auto launch_to_end = [&]() -> Status {
      ENGINE_TRY(clock.begin(resources_.stream));
      ENGINE_TRY(launch());
      ENGINE_TRY(clock.end(resources_.stream));
      return clock.finish();
    };
    for (int replay = 1; replay <= verified; ++replay) {
      ENGINE_TRY(poll_cancel());
      const std::size_t step = static_cast<std::size_t>(replay - 1) % eager.size();
      if (several_steps()) ENGINE_TRY(route(step));
      ENGINE_ASSIGN(const std::vector<std::uint64_t> sums, checked(launch_to_end));
      for (ReplayCheck& row : compare_checksums(replay, outputs, eager[step], sums)) {
        result_.replay_checks.push_back(std::move(row));
      }
    }
    result_.iteration_method = iteration_method(
        graphs.size() > 1 ? "the graph launches of each step" : "each graph launch");
    host_ns.clear();
    const Status timed = timed_loop(launch, watchdog);
    // The executable graph must outlive its launches, also when the loop was cancelled.
    ENGINE_CUDA_TRY(cudaStreamSynchronize(resources_.stream), "Waiting for the last replay");
    if (!host_ns.empty()) {
      result_.graph.host_launch_ns = std::llround(quantile_of(std::move(host_ns), 0.5));
    }
    ENGINE_TRY(timed);
    ENGINE_TRY(back_to_first_step(launch_to_end));
    ENGINE_TRY(step_->keep_weights(false, resources_.stream));
    if (graphs.size() > 1) {
      ENGINE_TRY(step_replay.time_graphs(
          std::min(request_.launch.iterations, kTimedGraphReplays), resources_.stream, watchdog,
          [&] { return context_.progress.cancel.load(); }, result_.graphs));
    }
    ENGINE_TRY(meter_observer(graphs, watchdog));
    if (watchdog_) result_.watch = watchdog_->facts();
    return {};
  }

  Result<std::vector<Graph>> capture_graphs() {
    const auto enqueue = [&](int graph) {
      return launch_watched(
          [&] { return step_->launch_graph(graph, resources_.stream, context_.observer); });
    };
    const auto on_captured = [&](const GraphCapture& captured) {
      context_.observer.graph_captured(captured);
      return watch_replays(captured);
    };
    ENGINE_ASSIGN(StepCapture made, capture_step(*step_, resources_.stream, enqueue, on_captured));
    result_.graph = made.contents;
    result_.graphs = std::move(made.several);
    return std::move(made.graphs);
  }

  /// How many recorded steps are compared, replay against eager. A scale that depends on the steps
  /// before allows only one.
  std::size_t verified_steps(int verified) const {
    const bool remembers = std::ranges::any_of(plan_.parts, [](const StepPart& part) {
      return traits_of(part.request.recipe).remembers_amax();
    });
    return remembers ? 1 : std::min(splits_.size(), static_cast<std::size_t>(verified));
  }

  /// Before the graph is instantiated: what to record of its replays.
  Status watch_replays(const GraphCapture& captured) {
    if (context_.replays == nullptr) return {};
    ENGINE_ASSIGN(const int markers, context_.replays->captured(captured));
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
    StoppingRule rule(request_.launch, cycle_of(request_.launch, splits_.size()));
    const int weight_reuse = request_.products.weight_reuse;
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
      if (several_steps()) ENGINE_TRY(route(static_cast<std::size_t>(i)));
      ENGINE_TRY(before_iteration(conditions));
      if (i == 0) context_.progress.timed_since_ns.store(steady_ns());
      const IterationScope scope(context_.observer, i);
      if (weight_reuse > 1) {
        ENGINE_TRY(step_->keep_weights(!quantizes_weights(i, weight_reuse, splits_.size()),
                                       resources_.stream));
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
    if (result_.recorded_routing) {
      add_times(result_.iterations, result_.recorded_routing->steps, in_flight());
    }
    return {};
  }

  Status before_iteration(const IterationConditions& conditions) {
    if (!conditions.any()) return {};
    const WorkScope scope(context_.observer, {.stage = Stage::Check});
    return conditions.before(resources_.stream);
  }

  /// The error of the outputs in each of the first recorded steps, by eager launches.
  Status measure_steps() {
    if (!result_.recorded_routing) return {};
    RecordedRouting& recorded = *result_.recorded_routing;
    const StepsToMeasure wanted = steps_to_measure(
        request_.measure, recorded, static_cast<int>(result_.iterations.size()), in_flight());
    recorded.numerics = wanted.words;
    if (wanted.steps == 0) return {};
    enter(Stage::Check, kMeasuredShare);
    context_.progress.iterations.store(wanted.steps);
    auto reference = built_.layer != nullptr
                         ? make_output_reference(*built_.layer, result_.splits, resources_.stream)
                         : make_output_reference(*built_.linear, resources_.stream);
    if (!reference.ok()) {
      if (reference.error().code != ErrorCode::Unsupported) return reference.error();
      recorded.numerics = "not measured: " + reference.error().message;
      return {};
    }
    StepObserver unobserved;
    for (int i = 0; i < wanted.steps; ++i) {
      ENGINE_TRY(poll_cancel());
      context_.progress.iteration.store(i);
      context_.progress.fraction.store(kMeasuredShare + (1 - kMeasuredShare) * i / wanted.steps);
      RecordedStep& one = recorded.steps[static_cast<std::size_t>(i)];
      ENGINE_TRY(route(measured_step(), static_cast<std::size_t>(i), unobserved));
      if (request_.products.accumulate_wgrad) {
        ENGINE_TRY(check_.poison(*step_, resources_.stream));
      }
      ENGINE_TRY(measured_step().launch(resources_.stream, unobserved));
      ENGINE_ASSIGN(const OutputErrors errors,
                    reference.value()->errors(one.splits, static_cast<std::size_t>(i)));
      errors.write_to(one);
    }
    return step_->check_splits(resources_.stream);
  }

  /// What numerics are of: the step or, of several micro-batches, the first.
  DeviceStep& measured_step() {
    if (built_.layer != nullptr) return *built_.layer;
    return *built_.linear;
  }

  Status measure() {
    enter(Stage::Check, kTimedShare);
    const bool apart = step_->micro_batches() > 1 || step_->graph_memory() != nullptr;
    if (request_.products.accumulate_wgrad || apart) {
      // The statistics are for the dW of one step, whatever the iterations accumulated, and for
      // tensors whose memory later graphs have used.
      StepObserver unobserved;
      ENGINE_TRY(check_.poison(*step_, resources_.stream));
      ENGINE_TRY(measured_step().launch(resources_.stream, unobserved));
    }
    if (built_.layer != nullptr) {
      return measure_layer_numerics(*built_.layer, resources_.stream, result_);
    }
    return measure_linear_numerics(*built_.linear, resources_.stream, result_);
  }

  const CudaRunResources& resources_;
  RunContext context_;
  RunResult& result_;
  const RunRequest& request_;
  StepPlan plan_;
  BuiltStep built_;
  DeviceStep* step_ = nullptr;  // of built_
  OutputCheck check_;
  std::shared_ptr<const TokenRouting> tokens_;             // null = the step begins at rows
  RecordedSplits splits_;                                  // outlives the copies of route()
  ReplayDeadline eager_{request_.launch.deadline_factor};  // of launches without a graph
  std::optional<ReplayWatchdog> watchdog_;                 // none = replays have no deadline
};

}  // namespace

Status run_on_device(const CudaRunResources& resources, RunContext context, RunResult& result) {
  return CudaRun(resources, context, result).run();
}

}  // namespace engine

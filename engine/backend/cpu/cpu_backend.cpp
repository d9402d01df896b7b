// The CPU backend: determines which parts of a request it supports, loads the operands, measures
// the numerics once, then times the step.
#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/backend/cpu/cpu_expert_layer.h"
#include "engine/backend/cpu/host_step.h"
#include "engine/backend/cpu/loaded_operands.h"
#include "engine/backend/cpu/machine.h"
#include "engine/backend/cpu/product.h"
#include "engine/backend/cpu/recipe_comparison.h"
#include "engine/gemm/on_cpu.h"
#include "engine/gemm/support.h"
#include "engine/input/operand_fit.h"
#include "engine/input/routing.h"
#include "engine/model/backend_traits.h"
#include "engine/model/out_of_memory.h"
#include "engine/model/projections.h"
#include "engine/model/recipe_traits.h"
#include "engine/model/stopping_rule.h"
#include "engine/model/weight_reuse.h"

namespace engine {
namespace {

constexpr DeviceCapability kNoDevice = {};

/// An allocation failed, with however much was available before.
Error ran_out_during(const char* what) {
  return {ErrorCode::OutOfMemory,
          fmt::format("memory ran out during the {} ({:.1f} GiB were available); choose fewer "
                      "tokens, or a smaller n or k",
                      what, static_cast<double>(available_memory_bytes()) / 0x1p30)};
}

/// The shape of the step with the largest expert: what memory is planned for.
GroupedShape widest(const ResolvedRouting& routing) {
  GroupedShape shape = routing.shape;
  if (!routing.recorded) return shape;
  const auto largest = [](const RecordedStep& step) {
    return *std::ranges::max_element(step.splits);
  };
  shape.splits = std::ranges::max_element(routing.recorded->steps, {}, largest)->splits;
  return shape;
}

Status check_memory(const MemoryPlan& plan, const GroupedShape& shape, std::int64_t available) {
  if (available == 0 || plan.step_bytes + plan.kept_bytes <= available) return {};
  const auto largest = std::max_element(shape.splits.begin(), shape.splits.end());
  return out_of_memory(
      fmt::format("the step with its largest expert (expert {}: {} rows, n {}, k {}) needs",
                  largest - shape.splits.begin(), *largest, shape.n, shape.k),
      plan.step_bytes + plan.kept_bytes, available,
      "choose fewer tokens, a smaller n or k, or a routing that spreads the tokens");
}

class CpuBackend final : public Backend {
 public:
  CpuBackend() {
    confine_openblas();
    device_ = cpu_facts();
  }

  GemmBackend kind() const override { return GemmBackend::CpuReference; }
  DeviceFacts device() const override { return device_; }

  Result<RunResult> run(const RunRequest& request, RunContext context) override {
    // Only allocation throws here, and its size depends on the request.
    try {
      return run_step(request, context);
    } catch (const std::bad_alloc&) {
      operands_.clear();
      buffers_ = {};
      return ran_out_during("run");
    }
  }

  Result<RecipeComparison> compare(const ComparisonRequest& request, RunContext context) override {
    try {
      return compare_on_cpu(request, device_, context);
    } catch (const std::bad_alloc&) {
      return ran_out_during("comparison");
    }
  }

 private:
  Result<RunResult> run_step(const RunRequest& request, RunContext context) {
    const std::int64_t begin_ns = steady_ns();
    RunResult result;
    ForcedSettings here = settings_on_cpu(request);
    result.effective = std::move(here.effective);
    result.deviations = std::move(here.deviations);
    result.device = device_;
    for (const StepPart& part : step_parts(request)) {
      const Verdict verdict =
          recipe_support(part.request.recipe, GemmBackend::CpuReference, kNoDevice);
      if (verdict.support == Support::Refused) {
        return Error{ErrorCode::Unsupported, verdict.sentence};
      }
    }
    ENGINE_ASSIGN(ResolvedRouting routing, resolve_routing(request));
    ENGINE_TRY(check_operand_files(request));
    const GroupedShape& shape = routing.shape;
    if (routing.recorded) visit_steps_equally(result, routing.recorded->steps.size());
    result.splits = shape.splits;

    const int iterations = result.effective.launch.iterations;
    context.progress.iterations.store(iterations);
    context.progress.iteration.store(-1);
    context.progress.timed_since_ns.store(0);
    context.progress.stage.store(static_cast<int>(Stage::Memory));
    context.progress.fraction.store(0.0);
    ENGINE_TRY(load(result.effective, widest(routing)));

    ObservedRun observed(context.observer);
    StepProgress progress(context.progress);
    const std::unique_ptr<HostStep> step = make_host_step({.request = result.effective,
                                                           .shape = shape,
                                                           .operands = operands_,
                                                           .buffers = buffers_,
                                                           .context = context,
                                                           .progress = progress,
                                                           .token_routing = routing.tokens});
    const auto steps_with_errors = [&](int ran) {
      return routing.recorded ? steps_to_measure(result.effective.measure, *routing.recorded, ran)
                              : StepsToMeasure{};
    };
    progress.expect(shape.num_experts() * kStatisticsUnits *
                        (1.0 + steps_with_errors(iterations).steps) +
                    iterations * step->units());
    // Delayed scaling: the numerics are those of the step after the timed ones, with their history.
    const bool measure_last = std::ranges::any_of(
        step_parts(result.effective),
        [](const StepPart& part) { return traits_of(part.request.recipe).remembers_amax(); });
    Status status = measure_last ? Status() : step->measure_statistics(result);
    if (status.ok()) status = step->prepare();
    if (status.ok()) {
      status = run_iterations(*step, routing.splits_of_steps(), progress, context, result);
    }
    if (status.ok() && measure_last) {
      context.progress.iteration.store(-1);
      step->set_splits(shape.splits, 0);
      status = step->measure_statistics(result);
    }
    if (!status.ok()) return status.error();
    result.flop =
        flop_of_row(request) * mean_rows(result.splits, routing.recorded, result.iterations.size());
    if (routing.recorded) {
      add_times(result.iterations, routing.recorded->steps);
      ENGINE_TRY(measure_steps(*step, steps_with_errors(static_cast<int>(result.iterations.size())),
                               context, *routing.recorded));
      result.recorded_routing = std::move(routing.recorded);
    }
    observed.end();
    if (result.effective.measure.ceilings) {
      result.measurements.ceilings = measure_cpu_ceilings(shape);
    }

    describe_methods(context.observer, result);
    if (!operands_.front().kept()) buffers_ = {};  // as large as an expert: not held while idle
    context.progress.fraction.store(1.0);
    result.wall_ns = steady_ns() - begin_ns;
    return result;
  }

  /// The last run's operands if they are the same, else new ones.
  Status load(const RunRequest& request, const GroupedShape& shape) {
    const std::vector<StepPart> parts = step_parts(request);
    const auto loaded = [](const LoadedOperands& operands, const StepPart& part) {
      return operands.kept() && operands.key == operand_key(part.loaded(), part.made);
    };
    if (std::ranges::equal(operands_, parts, loaded)) {
      const std::int64_t available = available_memory_bytes();
      MemoryPlan plan = plan_memory(request, shape, available);
      plan.kept_bytes = 0;  // already taken
      if (check_memory(plan, shape, available).ok()) return {};
      // What an earlier run left may be counted twice.
      buffers_ = {};
      return check_memory(plan, shape, available_memory_bytes());
    }
    operands_.clear();
    buffers_ = {};
    const std::int64_t available = available_memory_bytes();
    const MemoryPlan plan = plan_memory(request, shape, available);
    ENGINE_TRY(check_memory(plan, shape, available));
    std::vector<LoadedOperands> fresh;
    for (const StepPart& part : parts) {
      ENGINE_ASSIGN(LoadedOperands operands,
                    load_operands(part.loaded(), plan.kept_bytes > 0, part.made));
      fresh.push_back(std::move(operands));
    }
    operands_ = std::move(fresh);
    return {};
  }

  /// The splits of every step that iterations have in turn: set outside of their times.
  using Splits = std::vector<std::vector<std::int64_t>>;

  static Status route(HostStep& step, const Splits& splits, std::size_t index,
                      const RunRequest& request) {
    step.set_splits(splits[index], index);
    // What forward saved belongs to these rows.
    return request.products.passes == StepPasses::Backward ? step.prepare() : Status{};
  }

  static Status measure_steps(HostStep& step, const StepsToMeasure& wanted, RunContext& context,
                              RecordedRouting& recorded) {
    recorded.numerics = wanted.words;
    context.progress.stage.store(static_cast<int>(Stage::Check));
    for (int i = 0; i < wanted.steps; ++i) {
      context.progress.iteration.store(i);
      context.progress.iterations.store(wanted.steps);
      RecordedStep& one = recorded.steps[static_cast<std::size_t>(i)];
      step.set_splits(one.splits, static_cast<std::size_t>(i));
      ENGINE_ASSIGN(const OutputErrors errors, step.measure_errors());
      errors.write_to(one);
    }
    return {};
  }

  static Status run_iterations(HostStep& step, const Splits& splits, StepProgress& progress,
                               RunContext& context, RunResult& result) {
    StoppingRule rule(result.effective.launch, cycle_of(result.effective.launch, splits.size()));
    const std::int64_t begun_ns = steady_ns();
    // How many there will be is not known: progress is by the time that they may take.
    if (result.effective.launch.median_within != 0) {
      const double before = context.progress.fraction.load();
      progress.measure_by([rule, begun_ns, before] {
        return before + (1 - before) * rule.fraction(0, steady_ns() - begun_ns);
      });
    }
    std::int64_t first_ns = 0;
    const HostConditions conditions(result.effective.measure);
    for (int iteration = 0; rule.goes_on(iteration, result.iterations, steady_ns() - begun_ns);
         ++iteration) {
      if (splits.size() > 1) {
        ENGINE_TRY(route(step, splits, static_cast<std::size_t>(iteration) % splits.size(),
                         result.effective));
      }
      conditions.before();
      context.progress.iteration.store(iteration);
      context.progress.iterations.store(rule.expected());
      if (iteration == 0) context.progress.timed_since_ns.store(steady_ns());
      context.observer.begin_iteration(iteration);
      const std::int64_t reading_ns = step.reading_ns();
      const std::int64_t start_ns = steady_ns();
      const Status status = step.run(
          quantizes_weights(iteration, result.effective.products.weight_reuse, splits.size())
              ? WeightCast::Make
              : WeightCast::Keep);
      const std::int64_t end_ns = steady_ns();
      context.observer.end_iteration();
      if (!status.ok()) return status;
      if (iteration == 0) first_ns = start_ns;
      result.iterations.push_back(
          {.start_ns = start_ns - first_ns,
           .duration_ns = end_ns - start_ns - (step.reading_ns() - reading_ns)});
    }
    result.iteration_end = rule.end();
    progress.measure_by(nullptr);
    return {};
  }

  void describe_methods(const StepObserver& observer, RunResult& result) const {
    const MeasureOptions& measure = result.effective.measure;
    result.iteration_method = fmt::format(
        "steady clock around each step{}{}{}",
        operands_.front().kept() ? ""
                                 : ", less the time to read the operands, which are too large "
                                   "to keep in memory",
        measure.cache == CacheMode::Cold ? ", cold caches" : "",
        measure.pace == Pace::Burst ? ", after 50 ms of rest" : "");
    result.activity_method = observer.method();
    if (result.activity_method.empty()) {
      result.activity_method = "steady clock per expert and stage";
    }
    result.dropped_records = observer.dropped();
  }

  DeviceFacts device_;
  std::vector<LoadedOperands> operands_;  // of the last run: one for each of step_parts()
  LayerBuffers buffers_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend() { return std::make_unique<CpuBackend>(); }

}  // namespace engine

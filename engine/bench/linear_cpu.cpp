#include "engine/bench/linear_bench.h"

#include <array>
#include <mutex>
#include <optional>
#include <utility>

#include "engine/backend/cpu/cpu_step.h"
#include "engine/backend/cpu/loaded_operands.h"
#include "engine/backend/cpu/machine.h"
#include "engine/backend/cpu/product.h"

namespace engine {
namespace {

/// Adds spans up by stage, and forwards cancellation to a step whose progress is not shown.
class SpanSums final : public StepObserver {
 public:
  SpanSums(const RunProgress& shown, RunProgress& hidden) : shown_(shown), hidden_(hidden) {}

  void begin_iteration(int) override { sums_ns_ = {}; }
  void span(const WorkTag& tag, const char*, int, std::int64_t start, std::int64_t end) override {
    const std::lock_guard lock(mutex_);
    // Reading an operand from its source is not part of the step.
    if (tag.stage != Stage::Memory) sums_ns_[static_cast<std::size_t>(tag.stage)] += end - start;
    if (shown_.cancel) hidden_.cancel = true;
  }

  double us(Stage stage) const {
    return static_cast<double>(sums_ns_[static_cast<std::size_t>(stage)]) * 1e-3;
  }
  double all_us() const {
    double sum = 0;
    for (const std::int64_t ns : sums_ns_) sum += static_cast<double>(ns) * 1e-3;
    return sum;
  }

 private:
  const RunProgress& shown_;
  RunProgress& hidden_;
  std::mutex mutex_;
  std::array<std::int64_t, kStageNames.size()> sums_ns_ = {};
};

/// A step with its buffers and clock.
class TimedCpuStep {
 public:
  TimedCpuStep(RunRequest request, const GroupedShape& shape, LoadedOperands& operands,
               const RunProgress& progress)
      : request_(std::move(request)),
        sums_(progress, hidden_),
        step_({.request = request_,
               .shape = shape,
               .operands = operands,
               .buffers = buffers_,
               .context = {.progress = hidden_, .observer = sums_}}) {}

  Result<PartTime> run(LinearPart part) {
    sums_.begin_iteration(iteration_);
    const std::int64_t reading = step_.reading_ns();
    const std::int64_t begin = steady_ns();
    ENGINE_TRY(step_.run(iteration_++));
    const std::int64_t end = steady_ns();
    const std::int64_t took = end - begin - (step_.reading_ns() - reading);
    return PartTime{.part = part,
                    .us = static_cast<double>(took) * 1e-3,
                    .span = {begin, end},
                    .kernels_us = sums_.all_us(),
                    .replay_us = static_cast<double>(took) * 1e-3};
  }
  double us(Stage stage) const { return sums_.us(stage); }

 private:
  const RunRequest request_;
  RunProgress hidden_;
  SpanSums sums_;
  StepBuffers buffers_;
  CpuStep step_;
  int iteration_ = 0;
};

class CpuSubject final : public LinearSubject {
 public:
  CpuSubject(std::string name, const RunRequest& request, GroupedShape shape,
             LoadedOperands& operands, const RunProgress& progress)
      : name_(std::move(name)),
        shape_(std::move(shape)),
        forward_(of_passes(request, StepPasses::Forward), shape_, operands, progress),
        both_(request, shape_, operands, progress) {}

  std::string name() const override { return name_; }

  Result<std::vector<PartTime>> turn() override {
    ENGINE_ASSIGN(const PartTime forward, forward_.run(LinearPart::ForwardStep));
    ENGINE_ASSIGN(const PartTime both, both_.run(LinearPart::Step));
    const auto product = [&](LinearPart part, Stage stage) {
      return PartTime{.part = part, .us = both_.us(stage), .span = both.span};
    };
    return std::vector<PartTime>{product(LinearPart::Fprop, Stage::Fprop),
                                 product(LinearPart::Dgrad, Stage::Dgrad),
                                 product(LinearPart::Wgrad, Stage::Wgrad), forward, both};
  }

 private:
  static RunRequest of_passes(RunRequest request, StepPasses passes) {
    request.linear.passes = passes;
    return request;
  }

  const std::string name_;
  const GroupedShape shape_;
  TimedCpuStep forward_, both_;
};

class CpuLinearTarget final : public LinearTarget {
 public:
  CpuLinearTarget() { confine_openblas(); }

  Result<std::vector<OfferedSubject>> offer(const LinearCase& measured,
                                            RunProgress& progress) override {
    operands_.reset();
    const GroupedShape shape{
        .splits = measured.splits, .n = measured.shape.n, .k = measured.shape.k};
    const RunRequest plain =
        linear_bench_request(measured.shape, measured.routing, LinearBenchRecipe::Bf16);
    const MemoryPlan plan = plan_memory(plain, shape, available_memory_bytes());
    ENGINE_ASSIGN(LoadedOperands operands, load_operands(plain, plan.kept_bytes > 0));
    operands_.emplace(std::move(operands));
    std::vector<OfferedSubject> offered;
    for (const LinearBenchRecipe recipe : kLinearBenchRecipes) {
      std::string name(linear_bench_recipe_name(recipe));
      if (recipe == LinearBenchRecipe::PerTensorFast) {
        offered.push_back({.name = std::move(name),
                           .subject = nullptr,
                           .missing = "the CPU reference sums in FP32 throughout and has no fast "
                                      "accumulation"});
        continue;
      }
      const RunRequest request = linear_bench_request(measured.shape, measured.routing, recipe);
      auto subject = std::make_unique<CpuSubject>(name, request, shape, *operands_, progress);
      offered.push_back({.name = std::move(name), .subject = std::move(subject)});
    }
    return offered;
  }

 private:
  std::optional<LoadedOperands> operands_;
};

}  // namespace

std::unique_ptr<LinearTarget> make_cpu_linear_target() {
  return std::make_unique<CpuLinearTarget>();
}

}  // namespace engine

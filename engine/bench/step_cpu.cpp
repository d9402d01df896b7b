#include "engine/bench/step_bench.h"

#include <array>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/backend/cpu/cpu_expert_layer.h"
#include "engine/backend/cpu/loaded_operands.h"
#include "engine/backend/cpu/machine.h"
#include "engine/backend/cpu/product.h"
#include "engine/input/routing.h"
#include "engine/input/token_routing.h"
#include "engine/model/out_of_memory.h"

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
  TimedCpuStep(RunRequest request, const GroupedShape& shape, std::vector<LoadedOperands>& operands,
               const RunProgress& progress, std::shared_ptr<const TokenRouting> tokens = nullptr)
      : request_(std::move(request)),
        sums_(progress, hidden_),
        units_(hidden_),
        step_(make_host_step({.request = request_,
                              .shape = shape,
                              .operands = operands,
                              .buffers = buffers_,
                              .context = {.progress = hidden_, .observer = sums_},
                              .progress = units_,
                              .token_routing = std::move(tokens)})) {}

  /// The step with weights that it quantizes, or that the one before has quantized.
  Result<PartTime> run(BenchPart part) {
    const bool kept = keeps_weights(part);
    return time(part, [&] { return step_->run(kept ? WeightCast::Keep : WeightCast::Make); });
  }
  /// The forward half of an expert layer's step.
  Result<PartTime> run_forward() {
    auto& layer = static_cast<CpuExpertLayer&>(*step_);
    return time(BenchPart::ForwardStep,
                [&] { return layer.run_pass(ProgramPass::Forward, WeightCast::Make); });
  }
  void permute_tokens(bool permutes) {
    static_cast<CpuExpertLayer&>(*step_).permute_tokens(permutes);
  }
  double us(Stage stage) const { return sums_.us(stage); }

 private:
  template <class Work>
  Result<PartTime> time(BenchPart part, Work&& work) {
    sums_.begin_iteration(0);
    const std::int64_t reading = step_->reading_ns();
    const std::int64_t begin = steady_ns();
    ENGINE_TRY(work());
    const std::int64_t end = steady_ns();
    const std::int64_t took = end - begin - (step_->reading_ns() - reading);
    return PartTime{.part = part,
                    .us = static_cast<double>(took) * 1e-3,
                    .span = {begin, end},
                    .kernels_us = sums_.all_us(),
                    .replay_us = static_cast<double>(took) * 1e-3};
  }

  const RunRequest request_;
  RunProgress hidden_;
  SpanSums sums_;
  StepProgress units_;
  LayerBuffers buffers_;
  const std::unique_ptr<HostStep> step_;
};

class CpuLinearSubject final : public StepSubject {
 public:
  CpuLinearSubject(std::string name, const RunRequest& request, GroupedShape shape,
                   std::vector<LoadedOperands>& operands, const RunProgress& progress)
      : name_(std::move(name)),
        shape_(std::move(shape)),
        forward_(of_passes(request, StepPasses::Forward), shape_, operands, progress),
        both_(request, shape_, operands, progress) {}

  std::string name() const override { return name_; }

  Result<std::vector<PartTime>> turn() override {
    ENGINE_ASSIGN(const PartTime forward, forward_.run(BenchPart::ForwardStep));
    ENGINE_ASSIGN(const PartTime both, both_.run(BenchPart::Step));
    const auto product = [&](BenchPart part, Stage stage) {
      return PartTime{.part = part, .us = both_.us(stage), .span = both.span};
    };
    return std::vector<PartTime>{product(BenchPart::Fprop, Stage::Fprop),
                                 product(BenchPart::Dgrad, Stage::Dgrad),
                                 product(BenchPart::Wgrad, Stage::Wgrad), forward, both};
  }

 private:
  static RunRequest of_passes(RunRequest request, StepPasses passes) {
    request.products.passes = passes;
    return request;
  }

  const std::string name_;
  const GroupedShape shape_;
  TimedCpuStep forward_, both_;
};

class CpuLayerSubject final : public StepSubject {
 public:
  CpuLayerSubject(std::string name, const RunRequest& request, GroupedShape shape,
                  std::vector<LoadedOperands>& operands, const RunProgress& progress,
                  std::shared_ptr<const TokenRouting> tokens)
      : name_(std::move(name)),
        shape_(std::move(shape)),
        keeps_weights_(traits_of(request.recipe).quantizes()),
        begins_at_tokens_(tokens != nullptr),
        step_(request, shape_, operands, progress, std::move(tokens)) {}

  std::string name() const override { return name_; }

  Result<std::vector<PartTime>> turn() override {
    // The others use the rows that these make.
    std::vector<PartTime> from_tokens;
    if (begins_at_tokens_) ENGINE_TRY(run_steps(true, from_tokens));
    step_.permute_tokens(false);
    ENGINE_ASSIGN(const PartTime forward, step_.run_forward());
    std::vector<PartTime> times = {forward};
    ENGINE_TRY(run_steps(false, times));
    times.insert(times.end(), from_tokens.begin(), from_tokens.end());
    return times;
  }

 private:
  Status run_steps(bool from_tokens, std::vector<PartTime>& times) {
    using enum BenchPart;
    step_.permute_tokens(from_tokens);
    ENGINE_ASSIGN(const PartTime step, step_.run(from_tokens ? StepFromTokens : Step));
    times.push_back(step);
    if (!keeps_weights_) return {};
    ENGINE_ASSIGN(const PartTime kept,
                  step_.run(from_tokens ? StepFromTokensKeptWeights : StepKeptWeights));
    times.push_back(kept);
    return {};
  }

  const std::string name_;
  const GroupedShape shape_;
  const bool keeps_weights_;
  const bool begins_at_tokens_;
  TimedCpuStep step_;
};

class CpuStepTarget final : public StepTarget {
 public:
  CpuStepTarget() { confine_openblas(); }

  Result<std::vector<OfferedSubject>> offer(const StepCase& measured,
                                            RunProgress& progress) override {
    operands_.clear();
    const GroupedShape shape = measured.grouped();
    const RunRequest plain = step_bench_request(measured.of, StepBenchRecipe::Bf16);
    const MemoryPlan plan = plan_memory(plain, shape, available_memory_bytes());
    for (const StepPart& part : step_parts(plain)) {
      ENGINE_ASSIGN(LoadedOperands operands,
                    load_operands(part.loaded(), plan.kept_bytes > 0, part.made));
      operands_.push_back(std::move(operands));
    }
    ENGINE_ASSIGN(const std::shared_ptr<const TokenRouting> tokens, resolve_token_routing(plain));
    std::vector<OfferedSubject> offered;
    for (const StepBenchRecipe recipe : step_bench_recipes(measured.of.step)) {
      offered.push_back({.name = std::string(name_of(recipe)), .subject = nullptr});
      const RunRequest request = step_bench_request(measured.of, recipe);
      OfferedSubject& offer = offered.back();
      const std::int64_t available = available_memory_bytes();
      const std::int64_t needed = plan_memory(request, shape, available).step_bytes;
      if (traits_of(request.backend).device) {
        offer.missing = "its weight gradients are a kernel's, which needs a CUDA device";
      } else if (available > 0 && needed > available) {
        offer.missing = out_of_memory("in addition to the operands, this recipe's step needs",
                                      needed, available, "choose a smaller shape")
                            .message;
      } else if (traits_of(request.recipe).quantizes() && !request.recipe.split_accumulator) {
        offer.missing = "the CPU reference sums in FP32 throughout and has no fast accumulation";
      } else if (is_expert_layer(request)) {
        offer.subject = std::make_unique<CpuLayerSubject>(offer.name, request, shape, operands_,
                                                          progress, tokens);
      } else {
        offer.subject =
            std::make_unique<CpuLinearSubject>(offer.name, request, shape, operands_, progress);
      }
    }
    return offered;
  }

 private:
  std::vector<LoadedOperands> operands_;  // one for each of step_parts()
};

}  // namespace

std::unique_ptr<StepTarget> make_cpu_step_target() { return std::make_unique<CpuStepTarget>(); }

}  // namespace engine

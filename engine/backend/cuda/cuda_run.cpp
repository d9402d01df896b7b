// Upload, warm up, time (eager or as a graph), measure. Errors and cancels leave through Status.
#include "engine/backend/cuda/cuda_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/device/device_facts.h"
#include "engine/input/routing.h"
#include "engine/linear/output_check.h"
#include "engine/linear/scopes.h"
#include "engine/linear/step_numerics.h"

namespace engine {
namespace {

constexpr int kWarmUps = 2;
constexpr int kVerifiedReplays = 6;  // the hazards known so far show by replay 5
// CUDA loads kernels lazily and cuBLASLt brings large ones; they need room beside the buffers.
constexpr std::int64_t kModuleReserveBytes = std::int64_t{512} << 20;
// Shares of RunProgress::fraction that are over after each part.
constexpr double kUploadShare = 0.3;
constexpr double kTimedShare = 0.9;

const char* element_name(ElementType element) {
  switch (element) {
    case ElementType::Bf16:
      return "BF16";
    case ElementType::Fp16:
      return "FP16";
    case ElementType::Fp32:
      return "FP32";
  }
  return "unknown";
}

std::string gib(std::int64_t bytes) {
  return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / double{1 << 30});
}

class CudaRun {
 public:
  CudaRun(const CudaRunResources& resources, RunContext context, RunResult& result)
      : resources_(resources), context_(context), result_(result), request_(result.effective) {}

  Status run() {
    context_.progress.iteration.store(-1);
    const Result<GroupedShape> shape = resolve_shape(request_);
    if (!shape.ok()) return shape.error();
    result_.splits = shape.value().splits;
    result_.flop = shape.value().flop() * request_.layers;
    config_ = {.num_groups = shape.value().num_experts(),
               .capacity_rows = request_.shape.tokens,
               .n = request_.shape.n,
               .k = request_.shape.k,
               .layers = request_.layers,
               .recipe = request_.recipe,
               .workspace = request_.workspace};
    ENGINE_TRY(check_memory());
    {
      ObservedRun observed(context_.observer);
      ENGINE_TRY(make_step());
      ENGINE_TRY(time_iterations());
      ENGINE_CUDA_TRY(cudaDeviceSynchronize(), "Waiting for the last iteration");
    }
    ENGINE_TRY(step_->check_splits(resources_.stream));
    ENGINE_TRY(poll_cancel());
    enter(Stage::Check, kTimedShare);
    Result<StepNumerics> numerics = measure_numerics(*step_, result_.splits, resources_.stream);
    if (!numerics.ok()) return numerics.error();
    result_.activations = std::move(numerics.value().activations);
    result_.weights = std::move(numerics.value().weights);
    result_.experts = std::move(numerics.value().experts);
    if (!numerics.value().no_reference.empty()) {
      result_.deviations.push_back({.field = "experts",
                                    .requested = "error against the unquantized product",
                                    .effective = "not measured",
                                    .reason = std::move(numerics.value().no_reference)});
    }
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
    std::vector<DeviceOperandKey> keys = {
        device_operand_key(request_, OperandRole::Activations, 0)};
    for (int layer = 0; layer < request_.layers; ++layer) {
      keys.push_back(device_operand_key(request_, OperandRole::Weights, layer));
    }
    const std::int64_t needed = resources_.operands.keep_only(keys) + step_bytes(config_) +
                                numerics_bytes(config_) + kModuleReserveBytes;
    const Result<std::int64_t> available = free_device_memory();
    if (!available.ok()) return available.error();
    if (needed <= available.value()) return {};
    return Error{
        ErrorCode::OutOfMemory,
        fmt::format("This run needs {} of device memory and {} are free; use fewer tokens, "
                    "experts or layers, or a smaller n or k",
                    gib(needed), gib(available.value()))};
  }

  Result<const void*> upload(OperandRole role, int layer) {
    const WorkScope scope(context_.observer, {.stage = Stage::Memory, .layer = layer});
    const auto operand =
        resources_.operands.get(request_, role, layer, resources_.stream, context_.progress);
    if (!operand.ok()) return operand.error();
    const ElementType element = operand.value()->element;
    if (element != ElementType::Bf16 && layer == 0) {
      result_.deviations.push_back(
          {.field = role == OperandRole::Activations ? "activations" : "weights",
           .requested = element_name(element),
           .effective = "BF16",
           .reason = fmt::format("The CUDA step takes BF16 operands, so {} values were rounded to "
                                 "nearest even; save the tensor as BF16 to be rid of this",
                                 element_name(element))});
    }
    return static_cast<const void*>(operand.value()->values.data());
  }

  Status make_step() {
    enter(Stage::Memory, 0.0);
    StepOperands operands;
    const Result<const void*> activations = upload(OperandRole::Activations, 0);
    if (!activations.ok()) return activations.error();
    operands.activations = activations.value();
    for (int layer = 0; layer < request_.layers; ++layer) {
      context_.progress.fraction.store(kUploadShare * layer / request_.layers);
      const Result<const void*> weights = upload(OperandRole::Weights, layer);
      if (!weights.ok()) return weights.error();
      operands.weights.push_back(weights.value());
    }
    const WorkScope scope(context_.observer, {.stage = Stage::Memory});
    Result<GroupedStep> step =
        GroupedStep::create(resources_.library, config_, std::move(operands), resources_.stream);
    if (!step.ok()) return step.error();
    step_ = std::make_unique<GroupedStep>(std::move(step).value());
    return step_->write_splits(result_.splits, resources_.stream);
  }

  Status time_iterations() {
    enter(Stage::Other, kUploadShare);
    for (int i = 0; i < kWarmUps; ++i) {
      ENGINE_TRY(step_->launch(resources_.stream, context_.observer));
    }
    ENGINE_CUDA_TRY(cudaStreamSynchronize(resources_.stream), "Warming up");
    ENGINE_TRY(poll_cancel());
    if (request_.launch.kind == LaunchKind::Eager) {
      result_.iteration_method = "CUDA events around each eager step";
      return timed_loop([&] { return step_->launch(resources_.stream, context_.observer); });
    }
    return replay();
  }

  Status replay() {
    Result<OutputCheck> made = OutputCheck::create(*step_);
    if (!made.ok()) return made.error();
    check_ = std::move(made).value();
    const Result<std::vector<std::uint64_t>> eager =
        checked([&] { return step_->launch(resources_.stream, context_.observer); });
    if (!eager.ok()) return eager.error();

    const Result<Graph> graph = capture(
        resources_.stream, [&] { return step_->launch(resources_.stream, context_.observer); });
    if (!graph.ok()) return graph.error();
    context_.observer.graph_captured(graph.value().get());
    const Result<GraphExec> exec = instantiate(graph.value());
    if (!exec.ok()) return exec.error();
    const auto launch = [&] {
      return check_cuda(cudaGraphLaunch(exec.value().get(), resources_.stream),
                        "Launching the graph");
    };

    const int verified = std::min(request_.launch.iterations, kVerifiedReplays);
    for (int replay = 1; replay <= verified; ++replay) {
      ENGINE_TRY(poll_cancel());
      const Result<std::vector<std::uint64_t>> sums = checked(launch);
      if (!sums.ok()) return sums.error();
      for (ReplayCheck& row :
           compare_checksums(replay, eager.value(), sums.value(), config_.num_groups)) {
        result_.replay_checks.push_back(std::move(row));
      }
    }
    result_.iteration_method = "CUDA events around each graph launch";
    const Status timed = timed_loop(launch);
    // The executable graph must outlive its launches, also when the loop was cancelled.
    ENGINE_CUDA_TRY(cudaStreamSynchronize(resources_.stream), "Waiting for the last replay");
    return timed;
  }

  /// Poison, launch, checksums: nothing of an earlier launch can pass for this one's output.
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
  Status timed_loop(Launch&& launch) {
    Result<IterationClock> made = IterationClock::create();
    if (!made.ok()) return made.error();
    IterationClock clock = std::move(made).value();
    enter(Stage::Fprop, kUploadShare);
    const int iterations = request_.launch.iterations;
    context_.progress.iterations.store(iterations);
    Status status;
    for (int i = 0; i < iterations && status.ok(); ++i) {
      status = poll_cancel();
      if (!status.ok()) break;
      const IterationScope scope(context_.observer, i);
      ENGINE_TRY(clock.begin(resources_.stream));
      status = launch();
      ENGINE_TRY(clock.end(resources_.stream));
      context_.progress.iteration.store(clock.finished());
      context_.progress.fraction.store(kUploadShare + (kTimedShare - kUploadShare) *
                                                          clock.finished() / iterations);
    }
    ENGINE_TRY(clock.finish());
    ENGINE_TRY(status);
    result_.iterations = clock.take();
    return {};
  }

  const CudaRunResources& resources_;
  RunContext context_;
  RunResult& result_;
  const RunRequest& request_;
  StepConfig config_;
  std::unique_ptr<GroupedStep> step_;
  OutputCheck check_;
};

}  // namespace

Status run_on_device(const CudaRunResources& resources, RunContext context, RunResult& result) {
  return CudaRun(resources, context, result).run();
}

}  // namespace engine

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/backend/cuda/step_setup.h"
#include "engine/bench/step_bench.h"
#include "engine/device/batch_clock.h"
#include "engine/device/device_facts.h"
#include "engine/model/out_of_memory.h"

namespace engine {
namespace {

constexpr int kWarmUps = 2;
constexpr int kTracedReplays = 5;

/// Where the subjects of a target run.
struct BenchStream {
  cudaStream_t stream = nullptr;
  ReplayTracer* tracer = nullptr;
};

/// Runs the step until its scales are warm, and chooses the algorithms of its products.
Status warm_up(DeviceStep& step, const std::vector<std::int64_t>& splits, cudaStream_t stream) {
  StepObserver unobserved;
  ENGINE_TRY(step.write_splits(splits, stream));
  for (int i = 0; i < kWarmUps; ++i) ENGINE_TRY(step.launch(stream, unobserved));
  ENGINE_TRY(step.try_candidates(stream));
  return step.check_splits(stream);
}

/// One recipe on the device: parts that are timed in turn, and graphs whose kernels are recorded.
class CudaSubject : public StepSubject {
 public:
  std::string name() const override { return name_; }
  Result<std::vector<PartTime>> turn() override;
  Result<std::vector<PartTrace>> trace() override;

 protected:
  struct Timed {
    BenchPart part = BenchPart::Step;
    std::function<Status()> launch;
    std::function<Status()> before = nullptr;  // not timed
  };
  /// A graph that is captured again when its kernels are recorded.
  struct Captured {
    GraphExec exec;
    std::function<Status()> enqueue;
  };

  CudaSubject(std::string name, BenchStream at) : name_(std::move(name)), at_(at) {}
  /// Called before the steps are freed: a cancelled round may still use their memory.
  void finish() { (void)cudaStreamSynchronize(at_.stream); }
  Status make_clock() {
    ENGINE_ASSIGN(clock_, BatchClock::create());
    return {};
  }
  cudaStream_t stream() const { return at_.stream; }
  StepObserver& unobserved() { return unobserved_; }

  Result<GraphExec> graph_of(const std::function<Status()>& enqueue) const {
    ENGINE_ASSIGN(const Graph graph, capture(at_.stream, enqueue));
    return instantiate(graph);
  }
  Status replay(const GraphExec& graph) const {
    return check_cuda(cudaGraphLaunch(graph.get(), at_.stream), "Launching the step's graph");
  }
  /// Captures it; the graph is the subject's until it ends.
  Result<const Captured*> add_graph(std::function<Status()> enqueue) {
    ENGINE_ASSIGN(GraphExec exec, graph_of(enqueue));
    graphs_.push_back(std::make_unique<Captured>(
        Captured{.exec = std::move(exec), .enqueue = std::move(enqueue)}));
    return static_cast<const Captured*>(graphs_.back().get());
  }
  /// A part that is one replay of a graph, whose kernels are recorded too.
  void add_step(BenchPart part, const Captured* graph, std::function<Status()> before = nullptr) {
    parts_.push_back({.part = part,
                      .launch = [this, graph] { return replay(graph->exec); },
                      .before = std::move(before)});
    traced_.push_back(parts_.size() - 1);
  }
  void add(Timed part) { parts_.push_back(std::move(part)); }

 private:
  Result<PartTime> time(const Timed& part);
  Result<std::vector<TracedReplay>> replay_traced();

  std::string name_;
  BenchStream at_;
  StepObserver unobserved_;
  BatchClock clock_;
  std::vector<std::unique_ptr<Captured>> graphs_;  // what is recorded
  std::vector<Timed> parts_;
  std::vector<std::size_t> traced_;  // indices of parts_
  std::size_t turns_ = 0;
};

Result<PartTime> CudaSubject::time(const Timed& part) {
  PartTime timed{.part = part.part};
  timed.span.begin_ns = steady_ns();
  if (part.before) ENGINE_TRY(part.before());
  ENGINE_TRY(part.launch());
  ENGINE_ASSIGN(const double elapsed, clock_.time(1, at_.stream, part.launch));
  timed.us = elapsed * 1e-3;
  timed.span.end_ns = steady_ns();
  return timed;
}

Result<std::vector<PartTime>> CudaSubject::turn() {
  std::vector<PartTime> times(parts_.size());
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    // Every round begins with a different part and every other round is reversed: the first runs on
    // a cooler device, and each is affected by its predecessor.
    const std::size_t step_back = parts_.size() - i;
    const std::size_t at = (turns_ + (turns_ % 2 == 0 ? i : step_back)) % parts_.size();
    ENGINE_ASSIGN(times[at], time(parts_[at]));
  }
  ++turns_;
  return times;
}

Result<std::vector<PartTrace>> CudaSubject::trace() {
  std::vector<PartTrace> traces;
  if (at_.tracer == nullptr) return traces;
  ENGINE_ASSIGN(const std::vector<TracedReplay> replays, replay_traced());
  const auto kinds = static_cast<int>(traced_.size());
  for (const TracedReplay& traced : replays) {
    if (traced.iteration < kinds) continue;  // the first of each warms up
    const std::size_t index = traced_[static_cast<std::size_t>(traced.iteration % kinds)];
    traces.push_back({.part = parts_[index].part,
                      .kernels_us = traced.kernels_us,
                      .replay_us = traced.replay_us});
  }
  return traces;
}

Result<std::vector<TracedReplay>> CudaSubject::replay_traced() {
  StepObserver& observer = at_.tracer->observer();
  observer.begin_run();
  const auto replays = [&]() -> Status {
    // Anew, so that the recorder sees the nodes being made.
    for (const std::unique_ptr<Captured>& graph : graphs_) {
      ENGINE_ASSIGN(graph->exec, graph_of(graph->enqueue));
    }
    const std::size_t kinds = traced_.size();
    for (std::size_t i = 0; i < kinds * (kTracedReplays + 1); ++i) {
      const Timed& part = parts_[traced_[i % kinds]];
      if (part.before) ENGINE_TRY(part.before());
      ENGINE_CUDA_TRY(cudaStreamSynchronize(at_.stream), "Waiting before a recorded replay");
      observer.begin_iteration(static_cast<int>(i));
      const Status launched = part.launch();
      observer.end_iteration();
      ENGINE_TRY(launched);
      ENGINE_CUDA_TRY(cudaStreamSynchronize(at_.stream), "Waiting for a recorded replay");
    }
    return {};
  };
  const Status done = replays();
  observer.end_run();
  ENGINE_TRY(done);
  return at_.tracer->take();
}

/// A linear step: its products alone, and its forward step and its step with both passes as graphs.
class CudaLinearSubject final : public CudaSubject {
 public:
  CudaLinearSubject(std::string name, BenchStream at, BuiltStep forward, BuiltStep both)
      : CudaSubject(std::move(name), at), forward_(std::move(forward)), both_(std::move(both)) {}
  ~CudaLinearSubject() override { finish(); }

  Status prepare(const std::vector<std::int64_t>& splits) {
    ENGINE_TRY(warm_up(*both_.step, splits, stream()));
    ENGINE_TRY(warm_up(*forward_.step, splits, stream()));
    ENGINE_TRY(make_clock());
    ENGINE_TRY(add_graph_of(BenchPart::ForwardStep, *forward_.linear));
    ENGINE_TRY(add_graph_of(BenchPart::Step, *both_.linear));
    add_product(BenchPart::Fprop, Product::Fprop);
    add_product(BenchPart::Dgrad, Product::Dgrad);
    add_product(BenchPart::Wgrad, Product::Wgrad);
    return {};
  }

 private:
  Status add_graph_of(BenchPart part, GroupedStep& step) {
    ENGINE_ASSIGN(const Captured* graph,
                  add_graph([this, &step] { return step.launch(stream(), unobserved()); }));
    add_step(part, graph);
    return {};
  }

  void add_product(BenchPart part, Product which) {
    add({.part = part, .launch = [this, which] {
           return both_.linear->launch_products(which, stream(), unobserved());
         }});
  }

  BuiltStep forward_, both_;
};

/// An expert layer: its forward half and the whole step as graphs, the latter also with the
/// permutation of tokens, from the same kernels and memory; a flag on the device tells a graph to
/// keep the weights.
class CudaLayerSubject final : public CudaSubject {
 public:
  CudaLayerSubject(std::string name, BenchStream at, BuiltStep step, bool keeps_weights)
      : CudaSubject(std::move(name), at), step_(std::move(step)), keeps_weights_(keeps_weights) {}
  ~CudaLayerSubject() override { finish(); }

  Status prepare(const std::vector<std::int64_t>& splits) {
    ENGINE_TRY(warm_up(*step_.step, splits, stream()));
    ENGINE_TRY(make_clock());
    const auto keep_weights = [this](bool keep) {
      return [this, keep] { return step_.step->keep_weights(keep, stream()); };
    };
    const auto launch = [this](bool permutes) {
      return [this, permutes] {
        step_.layer->permute_tokens(permutes);
        return step_.layer->launch(stream(), unobserved());
      };
    };
    ENGINE_ASSIGN(const Captured* forward, add_graph([this] {
                    step_.layer->permute_tokens(false);
                    return step_.layer->launch_pass(ProgramPass::Forward, stream(), unobserved());
                  }));
    ENGINE_ASSIGN(const Captured* both, add_graph(launch(false)));
    add_step(BenchPart::ForwardStep, forward, keep_weights(false));
    add_step(BenchPart::Step, both, keep_weights(false));
    if (keeps_weights_) add_step(BenchPart::StepKeptWeights, both, keep_weights(true));
    if (step_.layer->tokens() == nullptr) return {};
    ENGINE_ASSIGN(const Captured* tokens, add_graph(launch(true)));
    add_step(BenchPart::StepFromTokens, tokens, keep_weights(false));
    if (keeps_weights_) add_step(BenchPart::StepFromTokensKeptWeights, tokens, keep_weights(true));
    return {};
  }

 private:
  BuiltStep step_;
  const bool keeps_weights_;
};

// Kernels that are loaded lazily, and the peers' memory, are not counted.
constexpr std::int64_t kReserveBytes = std::int64_t{1} << 30;

RunRequest on_device(const StepCase& measured, StepBenchRecipe recipe) {
  RunRequest request = step_bench_request(measured.of, recipe);
  if (!traits_of(request.backend).device) request.backend = GemmBackend::CublasLtGrouped;
  request.launch.kind = LaunchKind::GraphReplay;
  return request;
}

class DeviceStepTarget final : public StepTarget {
 public:
  DeviceStepTarget(FoundDevice device, std::shared_ptr<const CublasLt> library, Stream stream,
                   ReplayTracer* tracer)
      : device_(std::move(device)),
        library_(std::move(library)),
        stream_(std::move(stream)),
        tracer_(tracer) {
    device_.capability.cublaslt_version = library_->version();
  }

  Result<std::vector<OfferedSubject>> offer(const StepCase& measured,
                                            RunProgress& progress) override {
    std::vector<OfferedSubject> offered;
    for (const StepBenchRecipe recipe : step_bench_recipes(measured.of.step)) {
      OfferedSubject offer{.name = std::string(name_of(recipe)), .subject = nullptr};
      Result<std::unique_ptr<StepSubject>> subject = make(measured, recipe, progress);
      if (subject.ok()) {
        offer.subject = std::move(subject).value();
      } else if (subject.error().code == ErrorCode::Cancelled || broken()) {
        return subject.error();
      } else {
        offer.missing = subject.error().message;
      }
      offered.push_back(std::move(offer));
    }
    return offered;
  }

 private:
  /// A step of a recipe that is not built yet.
  struct Planned {
    RunResult result;
    StepPlan plan;
  };

  /// Whether the device can still be used after an error.
  bool broken() const {
    (void)cudaGetLastError();
    return cudaStreamSynchronize(stream_.get()) != cudaSuccess;
  }

  Result<Planned> plan_of(const RunRequest& request, const GroupedShape& shape) const {
    Planned planned;
    ENGINE_TRY(apply_gates(request, device_.capability, library_->path(), planned.result));
    // Otherwise products of dequantized operands would be reported under the recipe's name.
    if (!planned.result.emulated.empty()) {
      return Error{ErrorCode::Unsupported, planned.result.emulated};
    }
    planned.plan = plan_step(planned.result, shape, device_.capability);
    return planned;
  }

  Result<BuiltStep> build(Planned& planned, RunProgress& progress) {
    StepObserver unobserved;
    return build_step(planned.result, planned.plan, library_, operands_, stream_.get(),
                      {.progress = progress, .observer = unobserved});
  }

  /// All recipes read the same operands; those of the previous shape are freed.
  Status check_memory(const Planned& of_both, std::int64_t step_bytes) {
    const std::int64_t needed =
        operands_.keep_only(of_both.plan.operand_keys()) + step_bytes + kReserveBytes;
    ENGINE_ASSIGN(const std::int64_t available, free_device_memory());
    if (needed <= available) return {};
    return out_of_memory("in addition to those of the other recipes, this recipe's steps need",
                         needed, available, "choose a smaller shape", "device memory");
  }

  Result<std::unique_ptr<StepSubject>> make(const StepCase& measured, StepBenchRecipe recipe,
                                            RunProgress& progress) {
    const GroupedShape shape = measured.grouped();
    const std::string name(name_of(recipe));
    const BenchStream at{.stream = stream_.get(), .tracer = tracer_};
    RunRequest request = on_device(measured, recipe);
    ENGINE_ASSIGN(Planned both, plan_of(request, shape));
    if (is_expert_layer(request)) {
      ENGINE_TRY(check_memory(both, both.plan.step_bytes()));
      ENGINE_ASSIGN(BuiltStep step, build(both, progress));
      const bool quantizes = traits_of(request.recipe).quantizes();
      auto subject = std::make_unique<CudaLayerSubject>(name, at, std::move(step), quantizes);
      ENGINE_TRY(subject->prepare(measured.splits));
      return std::unique_ptr<StepSubject>(std::move(subject));
    }
    request.products.passes = StepPasses::Forward;
    ENGINE_ASSIGN(Planned forward, plan_of(request, shape));
    ENGINE_TRY(check_memory(both, both.plan.step_bytes() + forward.plan.step_bytes()));
    ENGINE_ASSIGN(BuiltStep both_step, build(both, progress));
    ENGINE_ASSIGN(BuiltStep forward_step, build(forward, progress));
    auto subject = std::make_unique<CudaLinearSubject>(name, at, std::move(forward_step),
                                                       std::move(both_step));
    ENGINE_TRY(subject->prepare(measured.splits));
    return std::unique_ptr<StepSubject>(std::move(subject));
  }

  FoundDevice device_;
  const std::shared_ptr<const CublasLt> library_;
  const Stream stream_;
  ReplayTracer* const tracer_;
  DeviceOperands operands_;
};

}  // namespace

Result<CudaStepTarget> make_cuda_step_target(const std::string& cublaslt_path,
                                             ReplayTracer* tracer) {
  ENGINE_ASSIGN(FoundDevice device, find_device());
  ENGINE_ASSIGN(std::shared_ptr<const CublasLt> library, CublasLt::load(cublaslt_path));
  ENGINE_ASSIGN(Stream stream, make_stream());
  DeviceFacts facts = device.facts;
  facts.cublaslt_version = cublaslt_version_text(library->version());
  facts.cublaslt_path = library->path();
  return CudaStepTarget{.target = std::make_unique<DeviceStepTarget>(
                            std::move(device), std::move(library), std::move(stream), tracer),
                        .device = std::move(facts)};
}

}  // namespace engine

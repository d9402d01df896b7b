#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/backend/cuda/step_setup.h"
#include "engine/bench/linear_bench.h"
#include "engine/device/batch_clock.h"
#include "engine/device/device_facts.h"
#include "engine/linear/grouped_step.h"
#include "engine/model/out_of_memory.h"

namespace engine {

// One recipe of the linear benchmark on the device: its products alone, its steps as graphs, and
// the set-up at their head.
class CudaLinearSubject final : public LinearSubject {
 public:
  struct Setup {
    std::string name;
    std::shared_ptr<const CublasLt> library;
    StepConfig config;      // of both passes
    StepOperands operands;  // outlive the subject
    const std::vector<std::int64_t>& splits;
    cudaStream_t stream = nullptr;
    ReplayTracer* tracer = nullptr;
  };
  /// Allocates two steps, tries the algorithms of their products and captures their graphs.
  static Result<std::unique_ptr<LinearSubject>> create(Setup setup);
  /// Device bytes that create() allocates, operands not counted.
  static std::int64_t bytes(const StepConfig& config);
  ~CudaLinearSubject() override;

  std::string name() const override { return name_; }
  Result<std::vector<PartTime>> turn() override;
  Result<std::vector<PartTrace>> trace() override;

 private:
  CudaLinearSubject() = default;
  static Result<GroupedStep> make_step(const Setup& setup, const StepConfig& config);
  Status capture_graphs();
  Status capture_programmatic();
  template <class Launch>
  Result<PartTime> time(LinearPart part, int launches, Launch&& launch);
  Result<std::vector<TracedReplay>> replay_traced();

  std::string name_;
  cudaStream_t stream_ = nullptr;
  ReplayTracer* tracer_ = nullptr;
  StepObserver unobserved_;
  std::optional<GroupedStep> forward_, both_;
  GraphExec forward_graph_, both_graph_, setup_graph_;
  GraphExec forward_programmatic_, both_programmatic_;
  std::size_t turns_ = 0;
  BatchClock clock_;
};

namespace {

constexpr int kWarmUps = 2;
constexpr int kSetups = 32;  // timing a single one would include the launch of its graph
constexpr int kTracedReplays = 5;

StepConfig forward_of(StepConfig config) {
  config.linear.passes = StepPasses::Forward;
  return config;
}

template <class Enqueue>
Result<GraphExec> graph_of(cudaStream_t stream, Enqueue&& enqueue) {
  ENGINE_ASSIGN(const Graph graph, capture(stream, std::forward<Enqueue>(enqueue)));
  return instantiate(graph);
}

Status replay(const GraphExec& graph, cudaStream_t stream) {
  return check_cuda(cudaGraphLaunch(graph.get(), stream), "Launching the step's graph");
}

}  // namespace

std::int64_t CudaLinearSubject::bytes(const StepConfig& config) {
  return GroupedStep::bytes(config) + GroupedStep::bytes(forward_of(config));
}

Result<GroupedStep> CudaLinearSubject::make_step(const Setup& setup, const StepConfig& config) {
  ENGINE_ASSIGN(GroupedStep step,
                GroupedStep::create(setup.library, config, setup.operands, {}, setup.stream));
  StepObserver unobserved;
  ENGINE_TRY(step.write_splits(setup.splits, setup.stream));
  for (int i = 0; i < kWarmUps; ++i) ENGINE_TRY(step.launch(setup.stream, unobserved));
  ENGINE_TRY(step.try_candidates(setup.stream));
  ENGINE_TRY(step.check_splits(setup.stream));
  return step;
}

Result<std::unique_ptr<LinearSubject>> CudaLinearSubject::create(Setup setup) {
  std::unique_ptr<CudaLinearSubject> subject(new CudaLinearSubject());
  ENGINE_ASSIGN(GroupedStep both, make_step(setup, setup.config));
  ENGINE_ASSIGN(GroupedStep forward, make_step(setup, forward_of(setup.config)));
  subject->name_ = std::move(setup.name);
  subject->stream_ = setup.stream;
  subject->tracer_ = setup.tracer;
  subject->both_.emplace(std::move(both));
  subject->forward_.emplace(std::move(forward));
  ENGINE_ASSIGN(subject->clock_, BatchClock::create());
  ENGINE_TRY(subject->capture_graphs());
  ENGINE_TRY(subject->capture_programmatic());
  ENGINE_ASSIGN(subject->setup_graph_, graph_of(setup.stream, [&]() -> Status {
                  for (int i = 0; i < kSetups; ++i)
                    ENGINE_TRY(subject->both_->launch_setup(setup.stream));
                  return {};
                }));
  return std::unique_ptr<LinearSubject>(std::move(subject));
}

CudaLinearSubject::~CudaLinearSubject() {
  (void)cudaStreamSynchronize(stream_);  // a cancelled round may still use this memory
}

Status CudaLinearSubject::capture_graphs() {
  ENGINE_ASSIGN(forward_graph_,
                graph_of(stream_, [&] { return forward_->launch(stream_, unobserved_); }));
  ENGINE_ASSIGN(both_graph_,
                graph_of(stream_, [&] { return both_->launch(stream_, unobserved_); }));
  return {};
}

Status CudaLinearSubject::capture_programmatic() {
  const auto captured = [&](GroupedStep& step) {
    step.launch_programmatically(true);
    Result<GraphExec> graph = graph_of(stream_, [&] { return step.launch(stream_, unobserved_); });
    step.launch_programmatically(false);
    return graph;
  };
  ENGINE_ASSIGN(forward_programmatic_, captured(*forward_));
  ENGINE_ASSIGN(both_programmatic_, captured(*both_));
  return {};
}

template <class Launch>
Result<PartTime> CudaLinearSubject::time(LinearPart part, int launches, Launch&& launch) {
  PartTime timed{.part = part};
  timed.span.begin_ns = steady_ns();
  ENGINE_TRY(launch());
  ENGINE_ASSIGN(const double elapsed, clock_.time(1, stream_, launch));
  timed.us = elapsed * 1e-3 / launches;
  timed.span.end_ns = steady_ns();
  return timed;
}

Result<std::vector<PartTime>> CudaLinearSubject::turn() {
  struct Timed {
    LinearPart part;
    int launches;
    std::function<Status()> launch;
  };
  const auto step = [&](LinearPart part, const GraphExec& graph) {
    return Timed{part, 1, [&] { return replay(graph, stream_); }};
  };
  const auto product = [&](LinearPart part, Product which) {
    return Timed{part, 1,
                 [this, which] { return both_->launch_products(which, stream_, unobserved_); }};
  };
  const std::vector<Timed> parts = {
      step(LinearPart::ForwardStep, forward_graph_),
      step(LinearPart::ForwardStepProgrammatic, forward_programmatic_),
      step(LinearPart::Step, both_graph_),
      step(LinearPart::StepProgrammatic, both_programmatic_),
      product(LinearPart::Fprop, Product::Fprop),
      product(LinearPart::Dgrad, Product::Dgrad),
      product(LinearPart::Wgrad, Product::Wgrad),
      {LinearPart::Setup, kSetups, [&] { return replay(setup_graph_, stream_); }}};
  std::vector<PartTime> times(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    // Every round begins with a different part and every other round is reversed: the first runs on
    // a cooler device, and each is affected by its predecessor.
    const std::size_t step_back = parts.size() - i;
    const std::size_t at = (turns_ + (turns_ % 2 == 0 ? i : step_back)) % parts.size();
    ENGINE_ASSIGN(times[at], time(parts[at].part, parts[at].launches, parts[at].launch));
  }
  ++turns_;
  return times;
}

Result<std::vector<PartTrace>> CudaLinearSubject::trace() {
  std::vector<PartTrace> traces;
  if (tracer_ == nullptr) return traces;
  ENGINE_ASSIGN(const std::vector<TracedReplay> replays, replay_traced());
  for (const TracedReplay& traced : replays) {
    if (traced.iteration < 2) continue;  // the first of each warms up
    traces.push_back(
        {.part = traced.iteration % 2 == 0 ? LinearPart::ForwardStep : LinearPart::Step,
         .kernels_us = traced.kernels_us,
         .replay_us = traced.replay_us});
  }
  return traces;
}

Result<std::vector<TracedReplay>> CudaLinearSubject::replay_traced() {
  StepObserver& observer = tracer_->observer();
  observer.begin_run();
  const auto replays = [&]() -> Status {
    // Anew, so that the recorder sees the nodes being made.
    ENGINE_TRY(capture_graphs());
    for (int i = 0; i < 2 * (kTracedReplays + 1); ++i) {
      observer.begin_iteration(i);
      const Status launched = replay(i % 2 == 0 ? forward_graph_ : both_graph_, stream_);
      observer.end_iteration();
      ENGINE_TRY(launched);
      ENGINE_CUDA_TRY(cudaStreamSynchronize(stream_), "Waiting for a recorded replay");
    }
    return {};
  };
  const Status done = replays();
  observer.end_run();
  ENGINE_TRY(done);
  return tracer_->take();
}

namespace {

// Kernels that are loaded lazily, and the peers' memory, are not counted.
constexpr std::int64_t kReserveBytes = std::int64_t{1} << 30;

RunRequest on_device(const LinearCase& measured, LinearBenchRecipe recipe) {
  RunRequest request = linear_bench_request(measured.shape, measured.routing, recipe);
  request.backend = GemmBackend::CublasLtGrouped;
  request.launch.kind = LaunchKind::GraphReplay;
  return request;
}

class DeviceLinearTarget final : public LinearTarget {
 public:
  DeviceLinearTarget(FoundDevice device, std::shared_ptr<const CublasLt> library, Stream stream,
                     ReplayTracer* tracer)
      : device_(std::move(device)),
        library_(std::move(library)),
        stream_(std::move(stream)),
        tracer_(tracer) {
    device_.capability.cublaslt_version = library_->version();
  }

  Result<std::vector<OfferedSubject>> offer(const LinearCase& measured,
                                            RunProgress& progress) override {
    const RunRequest any = on_device(measured, LinearBenchRecipe::Bf16);
    // All recipes read the same operands; those of the previous shape are freed.
    (void)operands_.keep_only({device_operand_key(any, OperandRole::Activations, 0),
                               device_operand_key(any, OperandRole::Gradients, 0),
                               device_operand_key(any, OperandRole::Weights, 0)});
    std::vector<OfferedSubject> offered;
    for (const LinearBenchRecipe recipe : kLinearBenchRecipes) {
      OfferedSubject offer{.name = std::string(linear_bench_recipe_name(recipe)),
                           .subject = nullptr};
      Result<std::unique_ptr<LinearSubject>> subject = make(offer.name, measured, recipe, progress);
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
  /// Whether the device can still be used after an error.
  bool broken() const {
    (void)cudaGetLastError();
    return cudaStreamSynchronize(stream_.get()) != cudaSuccess;
  }

  Result<std::unique_ptr<LinearSubject>> make(const std::string& name, const LinearCase& measured,
                                              LinearBenchRecipe recipe, RunProgress& progress) {
    RunResult result;
    ENGINE_TRY(
        apply_gates(on_device(measured, recipe), device_.capability, library_->path(), result));
    // Otherwise products of dequantized operands would be reported under the recipe's name.
    if (!result.emulated.empty()) return Error{ErrorCode::Unsupported, result.emulated};
    const GroupedShape shape{
        .splits = measured.splits, .n = measured.shape.n, .k = measured.shape.k};
    const StepConfig config = step_config(result, shape, device_.capability.compute_major);
    StepObserver unobserved;
    ENGINE_ASSIGN(UploadedStep uploaded,
                  upload_step(result, config, operands_, stream_.get(),
                              {.progress = progress, .observer = unobserved}));
    ENGINE_ASSIGN(const std::int64_t available, free_device_memory());
    const std::int64_t needed = CudaLinearSubject::bytes(config) + kReserveBytes;
    if (needed > available) {
      return out_of_memory("in addition to those of the other recipes, this recipe's steps need",
                           needed, available, "choose a smaller shape", "device memory");
    }
    return CudaLinearSubject::create({.name = name,
                                      .library = library_,
                                      .config = config,
                                      .operands = std::move(uploaded.operands),
                                      .splits = measured.splits,
                                      .stream = stream_.get(),
                                      .tracer = tracer_});
  }

  FoundDevice device_;
  const std::shared_ptr<const CublasLt> library_;
  const Stream stream_;
  ReplayTracer* const tracer_;
  DeviceOperands operands_;
};

}  // namespace

Result<CudaLinearTarget> make_cuda_linear_target(const std::string& cublaslt_path,
                                                 ReplayTracer* tracer) {
  ENGINE_ASSIGN(FoundDevice device, find_device());
  ENGINE_ASSIGN(std::shared_ptr<const CublasLt> library, CublasLt::load(cublaslt_path));
  ENGINE_ASSIGN(Stream stream, make_stream());
  DeviceFacts facts = device.facts;
  facts.cublaslt_version = cublaslt_version_text(library->version());
  facts.cublaslt_path = library->path();
  return CudaLinearTarget{.target = std::make_unique<DeviceLinearTarget>(
                              std::move(device), std::move(library), std::move(stream), tracer),
                          .device = std::move(facts)};
}

}  // namespace engine

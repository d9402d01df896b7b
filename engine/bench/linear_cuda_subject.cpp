#include "engine/bench/linear_cuda_subject.h"

#include <functional>
#include <utility>

namespace engine {
namespace {

constexpr int kWarmUps = 2;
constexpr int kSetups = 32;  // one alone would time the launch of its graph
constexpr int kTracedReplays = 5;

StepConfig forward_of(StepConfig config) {
  config.linear.passes = StepPasses::Forward;
  return config;
}

template <class Enqueue>
Result<GraphExec> graph_of(cudaStream_t stream, Enqueue&& enqueue) {
  const Result<Graph> graph = capture(stream, std::forward<Enqueue>(enqueue));
  if (!graph.ok()) return graph.error();
  return instantiate(graph.value());
}

Status replay(const GraphExec& graph, cudaStream_t stream) {
  return check_cuda(cudaGraphLaunch(graph.get(), stream), "Launching the step's graph");
}

}  // namespace

std::int64_t CudaLinearSubject::bytes(const StepConfig& config) {
  return GroupedStep::bytes(config) + GroupedStep::bytes(forward_of(config));
}

Result<GroupedStep> CudaLinearSubject::make_step(const Setup& setup, const StepConfig& config) {
  Result<GroupedStep> step =
      GroupedStep::create(setup.library, config, setup.operands, {}, setup.stream);
  if (!step.ok()) return step.error();
  StepObserver unobserved;
  ENGINE_TRY(step.value().write_splits(setup.splits, setup.stream));
  for (int i = 0; i < kWarmUps; ++i) ENGINE_TRY(step.value().launch(setup.stream, unobserved));
  ENGINE_TRY(step.value().try_candidates(setup.stream));
  ENGINE_TRY(step.value().check_splits(setup.stream));
  return step;
}

Result<std::unique_ptr<LinearSubject>> CudaLinearSubject::create(Setup setup) {
  std::unique_ptr<CudaLinearSubject> subject(new CudaLinearSubject());
  Result<GroupedStep> both = make_step(setup, setup.config);
  if (!both.ok()) return both.error();
  Result<GroupedStep> forward = make_step(setup, forward_of(setup.config));
  if (!forward.ok()) return forward.error();
  Result<Event> begin = make_timing_event();
  if (!begin.ok()) return begin.error();
  Result<Event> end = make_timing_event();
  if (!end.ok()) return end.error();
  subject->name_ = std::move(setup.name);
  subject->stream_ = setup.stream;
  subject->tracer_ = setup.tracer;
  subject->both_.emplace(std::move(both).value());
  subject->forward_.emplace(std::move(forward).value());
  subject->begin_ = std::move(begin).value();
  subject->end_ = std::move(end).value();
  ENGINE_TRY(subject->capture_graphs());
  ENGINE_TRY(subject->capture_programmatic());
  Result<GraphExec> head = graph_of(setup.stream, [&]() -> Status {
    for (int i = 0; i < kSetups; ++i) ENGINE_TRY(subject->both_->launch_setup(setup.stream));
    return {};
  });
  if (!head.ok()) return head.error();
  subject->setup_graph_ = std::move(head).value();
  return std::unique_ptr<LinearSubject>(std::move(subject));
}

CudaLinearSubject::~CudaLinearSubject() {
  (void)cudaStreamSynchronize(stream_);  // a cancelled turn may still run in this memory
}

Status CudaLinearSubject::capture_graphs() {
  Result<GraphExec> forward =
      graph_of(stream_, [&] { return forward_->launch(stream_, unobserved_); });
  if (!forward.ok()) return forward.error();
  forward_graph_ = std::move(forward).value();
  Result<GraphExec> both = graph_of(stream_, [&] { return both_->launch(stream_, unobserved_); });
  if (!both.ok()) return both.error();
  both_graph_ = std::move(both).value();
  return {};
}

Status CudaLinearSubject::capture_programmatic() {
  const auto captured = [&](GroupedStep& step) {
    step.launch_programmatically(true);
    Result<GraphExec> graph = graph_of(stream_, [&] { return step.launch(stream_, unobserved_); });
    step.launch_programmatically(false);
    return graph;
  };
  Result<GraphExec> forward = captured(*forward_);
  if (!forward.ok()) return forward.error();
  forward_programmatic_ = std::move(forward).value();
  Result<GraphExec> both = captured(*both_);
  if (!both.ok()) return both.error();
  both_programmatic_ = std::move(both).value();
  return {};
}

template <class Launch>
Result<PartTime> CudaLinearSubject::time(LinearPart part, int launches, Launch&& launch) {
  PartTime timed{.part = part};
  timed.span.begin_ns = span_now_ns();
  ENGINE_TRY(launch());
  ENGINE_CUDA_TRY(cudaEventRecord(begin_.get(), stream_), "Starting the clock");
  ENGINE_TRY(launch());
  ENGINE_CUDA_TRY(cudaEventRecord(end_.get(), stream_), "Stopping the clock");
  ENGINE_CUDA_TRY(cudaEventSynchronize(end_.get()), "Waiting for the benchmark");
  float milliseconds = 0;
  ENGINE_CUDA_TRY(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()),
                  "Reading the clock");
  timed.us = static_cast<double>(milliseconds) * 1e3 / launches;
  timed.span.end_ns = span_now_ns();
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
                 [this, which] { return both_->launch_product(which, stream_, unobserved_); }};
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
    // Every turn begins with a different part and every other turn is reversed: the first finds the
    // device cooler, and each finds it as its predecessor left it.
    const std::size_t step_back = parts.size() - i;
    const std::size_t at = (turns_ + (turns_ % 2 == 0 ? i : step_back)) % parts.size();
    const Result<PartTime> timed = time(parts[at].part, parts[at].launches, parts[at].launch);
    if (!timed.ok()) return timed.error();
    times[at] = timed.value();
  }
  ++turns_;
  return times;
}

Result<std::vector<PartTrace>> CudaLinearSubject::trace() {
  std::vector<PartTrace> traces;
  if (tracer_ == nullptr) return traces;
  const Result<std::vector<TracedReplay>> replays = replay_traced();
  if (!replays.ok()) return replays.error();
  for (const TracedReplay& traced : replays.value()) {
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

}  // namespace engine

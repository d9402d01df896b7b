#include "profiling/hazards/proofs/replay_launcher.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "engine/device/check.h"
#include "engine/device/handles.h"
#include "profiling/hazards/proofs/stall_probe.h"

namespace profiling {

using engine::Result;
using engine::Status;
using engine::wait_for;
using engine::Waited;

Status ReplayLauncher::prepare() {
  ENGINE_ASSIGN(Probe probe, Probe::create());
  probe_ = std::make_unique<Probe>(std::move(probe));
  for (engine::Event* event : {&begin_, &done_}) {
    ENGINE_ASSIGN(engine::Event made, engine::make_timing_event());
    *event = std::move(made);
  }
  return {};
}

Status ReplayLauncher::launch_eagerly(double deadline, double* seconds) {
  engine::StepObserver unobserved;
  ENGINE_TRY(state_.subject.reset(state_.stream));
  ENGINE_CUDA_TRY(cudaEventRecord(begin_.get(), state_.stream), "Starting an eager launch");
  const auto start = std::chrono::steady_clock::now();
  for (int g = 0; g < static_cast<int>(state_.subject.graph_names().size()); ++g) {
    ENGINE_TRY(state_.subject.enqueue(g, state_.stream, unobserved));
  }
  ENGINE_CUDA_TRY(cudaEventRecord(done_.get(), state_.stream),
                  "Marking the end of an eager launch");
  const Result<Waited> waited =
      wait_for(done_.get(), deadline, [this] { return state_.cancelled(); });
  if (!waited.ok()) return state_.end(Verdict::Crashed, waited.error().message);
  if (waited.value() == Waited::Cancelled) return ExperimentState::cancel_error();
  if (waited.value() == Waited::Late) {
    Stall stall;
    stall.waited_seconds = deadline;
    stall.deadline_seconds = deadline;
    probe_->explain(stall, [this] { return state_.watch.board.device(); });
    state_.reply.outcome.stall = {std::move(stall)};
    return state_.end(Verdict::Hung, "an eager launch, without any graph, did not finish");
  }
  if (seconds != nullptr) {
    *seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  return {};
}

Status ReplayLauncher::launch_graphs(ExperimentCaptures& captures, int replay,
                                     double* microseconds) {
  for (const FilledMemory& filled : state_.experiment.filled) {
    const engine::Allocation& allocation = *state_.allocation_of(filled.owner);
    ENGINE_CUDA_TRY(cudaMemsetAsync(reinterpret_cast<void*>(allocation.address), filled.value,
                                    allocation.bytes, state_.stream),
                    "Filling memory before a replay");
  }
  ENGINE_TRY(state_.subject.reset(state_.stream));
  MovedInputs* const moved = captures.moved_inputs();
  if (moved != nullptr) ENGINE_TRY(moved->before_replay(state_.stream));
  state_.watch.progress.iteration.store(replay - 1);
  int index = 0;
  for (CapturedGraph& captured : captures.graphs()) {
    Launch launch{.graph = captured.executable.get(), .replay = replay, .index = index++};
    if (captured.board) {
      // Earlier launches have finished: nothing writes the board now.
      ENGINE_CUDA_TRY(cudaStreamSynchronize(state_.stream), "Before a replay");
      captured.board->clear();
      state_.watch.board.attach(replay, captured.board->words(), &captured.board->slots(),
                                &captured.board->dependencies());
      launch.board = &*captured.board;
    }
    ENGINE_TRY(launch_and_wait(launch, microseconds));
    state_.watch.board.detach();
  }
  return moved == nullptr ? Status{} : moved->after_replay(state_.stream);
}

Status ReplayLauncher::launch_unmarked(ExperimentCaptures& captures, double& microseconds) {
  ENGINE_TRY(state_.subject.reset(state_.stream));
  int index = 0;
  for (CapturedGraph& captured : captures.graphs()) {
    ENGINE_CUDA_TRY(cudaStreamSynchronize(state_.stream), "Before a replay");
    ENGINE_TRY(launch_and_wait({.graph = captured.unmarked_executable.get(),
                                .replay = state_.experiment.replays,
                                .index = index++},
                               &microseconds));
  }
  return {};
}

Status ReplayLauncher::launch_and_wait(const Launch& launch, double* microseconds) {
  ENGINE_CUDA_TRY(cudaEventRecord(begin_.get(), state_.stream), "Starting a replay");
  if (const cudaError_t launched = cudaGraphLaunch(launch.graph, state_.stream);
      launched != cudaSuccess) {
    return state_.end_with(
        engine::cuda_error(launched, fmt::format("Replay {}", launch.replay).c_str()));
  }
  ENGINE_CUDA_TRY(cudaEventRecord(done_.get(), state_.stream), "Marking the end of a replay");
  const Result<Waited> waited =
      wait_for(done_.get(), deadline_, [this] { return state_.cancelled(); });
  if (!waited.ok()) return state_.end(Verdict::Crashed, waited.error().message);
  if (waited.value() == Waited::Cancelled) {
    state_.reply.outcome.verdict = Verdict::Hung;  // the launched work may never finish
    return ExperimentState::cancel_error();
  }
  if (waited.value() == Waited::Late) return stalled(launch);
  float milliseconds = 0;
  if (microseconds != nullptr &&
      cudaEventElapsedTime(&milliseconds, begin_.get(), done_.get()) == cudaSuccess) {
    *microseconds += 1e3 * static_cast<double>(milliseconds);
  }
  return {};
}

Status ReplayLauncher::stalled(const Launch& launch) {
  Stall stall{.replay = launch.replay,
              .graph = launch.index,
              .waited_seconds = deadline_,
              .deadline_seconds = deadline_,
              .nodes = launch.board == nullptr ? std::vector<NodeState>() : launch.board->read(),
              .evidence = {}};
  probe_->explain(stall, [this] { return state_.watch.board.device(); });
  CoreDump dump = take_core_dump(kCoreDumpSeconds);
  stall.core_dump = std::move(dump.path);
  if (!dump.missing.empty()) stall.evidence += "; no core dump: " + dump.missing;
  state_.reply.outcome.stall = {std::move(stall)};
  return state_.end(Verdict::Hung);
}

}  // namespace profiling

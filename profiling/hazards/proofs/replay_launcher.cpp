#include "profiling/hazards/proofs/replay_launcher.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "engine/device/check.h"
#include "engine/device/handles.h"
#include "profiling/hazards/core_dump/core_trigger.h"
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
  ENGINE_TRY(enqueue_step(state_.subject, state_.stream, unobserved));
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

Status ReplayLauncher::fill(const std::vector<FilledMemory>& memory) const {
  for (const FilledMemory& filled : memory) {
    const engine::Allocation& allocation = *state_.allocation_of(filled.owner);
    ENGINE_CUDA_TRY(cudaMemsetAsync(reinterpret_cast<void*>(allocation.address), filled.value,
                                    allocation.bytes, state_.stream),
                    "Filling memory before a launch");
  }
  return {};
}

Status ReplayLauncher::launch_graphs(ExperimentCaptures& captures, int replay,
                                     double* microseconds) {
  ENGINE_TRY(fill(state_.experiment.filled));
  ENGINE_TRY(state_.subject.reset(state_.stream));
  MovedInputs* const moved = captures.moved_inputs();
  if (moved != nullptr) ENGINE_TRY(moved->before_replay(state_.stream));
  state_.watch.progress.iteration.store(replay - 1);
  ENGINE_TRY(launch_step(captures, replay, Markers::With, microseconds));
  return moved == nullptr ? Status{} : moved->after_replay(state_.stream);
}

Status ReplayLauncher::launch_unmarked(ExperimentCaptures& captures, double& microseconds) {
  ENGINE_TRY(state_.subject.reset(state_.stream));
  return launch_step(captures, state_.experiment.replays, Markers::Without, &microseconds);
}

Status ReplayLauncher::launch_step(ExperimentCaptures& captures, int replay, Markers markers,
                                   double* microseconds) {
  const std::span<const PlannedLaunch> plan = captures.plan();
  for (std::size_t first = 0; first < plan.size();) {
    std::size_t end = first + 1;
    while (end < plan.size() && plan[end].overlaps) ++end;
    if (first > 0) {
      ENGINE_TRY(fill(state_.experiment.filled_between));
      // What one graph leaves in a workspace means nothing to the next.
      if (replay <= 2) ENGINE_TRY(captures.poison_workspaces());
    }
    ENGINE_TRY(
        launch_wave(captures, plan.subspan(first, end - first), replay, markers, microseconds));
    first = end;
  }
  return {};
}

Status ReplayLauncher::launch_wave(ExperimentCaptures& captures,
                                   std::span<const PlannedLaunch> wave, int replay, Markers markers,
                                   double* microseconds) {
  std::vector<Launch> launches;
  bool waits = markers == Markers::Without;
  for (const PlannedLaunch& planned : wave) {
    ENGINE_TRY(state_.subject.before_launch(planned.number, state_.stream));
    CapturedGraph& captured = captures.graphs()[static_cast<std::size_t>(planned.captured)];
    const bool marked = markers == Markers::With && captured.board.has_value();
    waits = waits || marked;
    launches.push_back({.graph = markers == Markers::With ? captured.executable.get()
                                                          : captured.unmarked_executable.get(),
                        .replay = replay,
                        .index = planned.captured,
                        .board = marked ? &*captured.board : nullptr});
  }
  if (waits) {
    // Earlier launches have finished: nothing writes the boards now.
    ENGINE_CUDA_TRY(cudaStreamSynchronize(state_.stream), "Before a replay");
  }
  for (const PlannedLaunch& planned : wave) {
    CapturedGraph& captured = captures.graphs()[static_cast<std::size_t>(planned.captured)];
    if (markers == Markers::Without || !captured.board) continue;
    captured.board->clear();
    // If several graphs run at the same time, the board of the last one is shown.
    state_.watch.board.attach(replay, captured.board->words(), &captured.board->slots(),
                              &captured.board->dependencies());
  }
  ENGINE_TRY(launch_and_wait(launches, microseconds));
  state_.watch.board.detach();
  for (const PlannedLaunch& planned : wave) {
    ENGINE_TRY(state_.subject.after_launch(planned.number, state_.stream));
  }
  return {};
}

Status ReplayLauncher::start(std::span<const Launch> wave) {
  while (wave.size() > 1 && lanes_.size() < wave.size()) {
    Lane& lane = lanes_.emplace_back();
    ENGINE_ASSIGN(lane.stream, engine::make_stream());
    ENGINE_ASSIGN(lane.done, engine::make_order_event());
  }
  ENGINE_CUDA_TRY(cudaEventRecord(begin_.get(), state_.stream), "Starting a replay");
  for (std::size_t i = 0; i < wave.size(); ++i) {
    const cudaStream_t stream = i == 0 ? state_.stream : lanes_[i].stream.get();
    if (i > 0) ENGINE_CUDA_TRY(cudaStreamWaitEvent(stream, begin_.get(), 0), "Starting a replay");
    if (const cudaError_t launched = cudaGraphLaunch(wave[i].graph, stream);
        launched != cudaSuccess) {
      return state_.end_with(
          engine::cuda_error(launched, fmt::format("Replay {}", wave[i].replay).c_str()));
    }
    if (wave.size() == 1) break;
    ENGINE_CUDA_TRY(cudaEventRecord(lanes_[i].done.get(), stream), "Marking the end of a replay");
  }
  for (std::size_t i = 1; i < wave.size(); ++i) {
    ENGINE_CUDA_TRY(cudaStreamWaitEvent(state_.stream, lanes_[i].done.get(), 0),
                    "Waiting for the replays on other streams");
  }
  return engine::check_cuda(cudaEventRecord(done_.get(), state_.stream),
                            "Marking the end of a replay");
}

const ReplayLauncher::Launch& ReplayLauncher::unfinished(std::span<const Launch> wave) const {
  for (std::size_t i = 0; wave.size() > 1 && i < wave.size(); ++i) {
    if (cudaEventQuery(lanes_[i].done.get()) == cudaErrorNotReady) return wave[i];
  }
  return wave.front();
}

Status ReplayLauncher::launch_and_wait(std::span<const Launch> wave, double* microseconds) {
  ENGINE_TRY(start(wave));
  const Result<Waited> waited =
      wait_for(done_.get(), deadline_, [this] { return state_.cancelled(); });
  if (!waited.ok()) return state_.end(Verdict::Crashed, waited.error().message);
  if (waited.value() == Waited::Cancelled) {
    state_.reply.outcome.verdict = Verdict::Hung;  // the launched work may never finish
    return ExperimentState::cancel_error();
  }
  if (waited.value() == Waited::Late) return stalled(unfinished(wave));
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
  CoreDump dump = take_core_dump(own_core_dump_files(), kCoreDumpSeconds);
  stall.core_dump = std::move(dump.path);
  if (!dump.missing.empty()) stall.evidence += "; no core dump: " + dump.missing;
  state_.reply.outcome.stall = {std::move(stall)};
  return state_.end(Verdict::Hung);
}

}  // namespace profiling

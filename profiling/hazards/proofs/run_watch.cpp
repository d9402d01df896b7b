#include "profiling/hazards/proofs/run_watch.h"

#include <fmt/format.h>

#include <utility>

#include "engine/device/allocation_ledger.h"
#include "profiling/hazards/core_dump/core_trigger.h"
#include "profiling/hazards/proofs/stall_probe.h"
#include "profiling/hazards/snapshot/graph_reader.h"
#include "profiling/trace/host_thread.h"

namespace profiling {

engine::Result<int> RunWatch::captured(const engine::GraphCapture& capture) {
  ENGINE_ASSIGN(const engine::DriverApi driver, engine::load_driver_api());
  // CUgraph and cudaGraph_t are the same handle.
  auto* const handle = static_cast<CUgraph>(capture.graph);
  ENGINE_ASSIGN(ReadGraph read, read_captured_graph(driver, handle));
  if (options_.markers) {
    ENGINE_ASSIGN(MarkerBoard added, MarkerBoard::add(driver, handle, read));
    markers_.emplace(std::move(added));
  }
  GraphSnapshot& graph = graphs_.emplace_back(std::move(read.snapshot));
  graph.name = capture.name;
  pools_ = capture.pools;
  const engine::AllocationLedger& ledger = engine::AllocationLedger::of_process();
  // The engine allocates nothing under capture, and what comes from a pool of the graphs is in the
  // ledger now, so one timestamp covers the whole capture.
  graph.capture_began = graph.capture_ended = ledger.clock();
  return markers_ ? markers_->count() : 0;
}

void RunWatch::replay_begins(int replay) {
  if (!markers_) return;
  markers_->clear();
  board_.attach(replay, markers_->words(), &markers_->slots(), &markers_->dependencies());
}

void RunWatch::launch_begins(const engine::Launching& launch) {
  if (options_.launches != nullptr) options_.launches->begins(launch);
}

void RunWatch::launch_ends() {
  if (options_.launches != nullptr) options_.launches->ends();
}

void RunWatch::stalled(const engine::LateReplay& late) {
  Stall stall{.replay = late.replay,
              .waited_seconds = late.deadline_seconds,
              .deadline_seconds = late.deadline_seconds,
              .p99_seconds = late.p99_seconds};
  if (markers_) stall.nodes = markers_->read();
  probe_.explain(stall, options_.device);
  options_.stalled(stalled_run(std::move(stall)));
}

StalledRun RunWatch::blocked(const BlockedLaunch& blocked) const {
  const engine::Launching& launch = blocked.launch;
  // The probe stays unused: whatever blocks one driver call may block every other.
  Stall stall{
      .replay = launch.graph ? launch.number : 0,
      .waited_seconds = blocked.waited_seconds,
      .deadline_seconds = launch.deadline_seconds,
      .p99_seconds = launch.p99_seconds,
      .kind = StallKind::HostBlocked,
      .evidence = fmt::format("the engine thread has been inside {} for {:.2f} s; {}",
                              launch.graph ? "cudaGraphLaunch" : "the launches of an eager step",
                              blocked.waited_seconds, host_thread_text(blocked.thread))};
  if (launch.graph && markers_) stall.nodes = markers_->read();
  stall.last_finished = last_done(stall.nodes);
  if (const std::string says = options_.device(); !says.empty()) stall.evidence += "; " + says;
  return stalled_run(std::move(stall));
}

StalledRun RunWatch::stalled_run(Stall stall) const {
  CoreDump dump = take_core_dump(own_core_dump_files(), kCoreDumpSeconds);
  stall.core_dump = std::move(dump.path);
  if (!dump.missing.empty()) stall.evidence += "; no core dump: " + dump.missing;
  StalledRun run{.snapshot = {}, .stall = std::move(stall)};
  const engine::AllocationLedger& ledger = engine::AllocationLedger::of_process();
  for (const GraphSnapshot& graph : graphs_) {
    if (!graph.nodes.empty()) run.snapshot.graphs.push_back(graph);
  }
  run.snapshot.pools = pools_;
  run.snapshot.ledger = ledger.read();
  run.snapshot.ledger_clock = ledger.clock();
  return run;
}

}  // namespace profiling

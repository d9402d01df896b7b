#include "profiling/doctor/run_watch.h"

#include <utility>

#include "engine/device/allocation_ledger.h"
#include "profiling/capture/graph_reader.h"

namespace profiling {

engine::Result<int> RunWatch::captured(void* graph) {
  const engine::Result<engine::DriverApi> driver = engine::load_driver_api();
  if (!driver.ok()) return driver.error();
  // CUgraph and cudaGraph_t are one handle.
  auto* const handle = static_cast<CUgraph>(graph);
  engine::Result<ReadGraph> read = read_captured_graph(driver.value(), handle);
  if (!read.ok()) return read.error();
  if (options_.markers) {
    engine::Result<MarkerBoard> added = MarkerBoard::add(driver.value(), handle, read.value());
    if (!added.ok()) return added.error();
    markers_.emplace(std::move(added).value());
  }
  graph_ = std::move(read.value().snapshot);
  graph_.name = "step";
  const engine::AllocationLedger& ledger = engine::AllocationLedger::of_process();
  // The engine allocates nothing under capture, so one moment is the whole capture.
  graph_.capture_began = graph_.capture_ended = ledger.clock();
  return markers_ ? markers_->count() : 0;
}

void RunWatch::replay_begins(int replay) {
  if (!markers_) return;
  markers_->clear();
  board_.attach(replay, markers_->words(), &markers_->slots(), &markers_->dependencies());
}

void RunWatch::stalled(const engine::LateReplay& late) {
  StalledRun run;
  run.stall.replay = late.replay;
  run.stall.waited_seconds = late.deadline_seconds;
  run.stall.deadline_seconds = late.deadline_seconds;
  run.stall.p99_seconds = late.p99_seconds;
  if (markers_) run.stall.nodes = markers_->read();
  probe_.explain(run.stall, options_.device);
  const engine::AllocationLedger& ledger = engine::AllocationLedger::of_process();
  run.snapshot.graphs.push_back(graph_);
  run.snapshot.ledger = ledger.read();
  run.snapshot.ledger_clock = ledger.clock();
  options_.stalled(std::move(run));
}

}  // namespace profiling

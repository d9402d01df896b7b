#include "profiling/hazards/proofs/subject_capture.h"

#include <algorithm>
#include <utility>

#include "engine/device/allocation_ledger.h"
#include "engine/device/check.h"

namespace profiling {

std::size_t CaptureWatch::nodes_so_far() const {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaGraph_t graph = nullptr;
  std::size_t count = 0;
  const bool asked = cudaStreamGetCaptureInfo(stream_, &status, nullptr, &graph) == cudaSuccess;
  if (!asked || status != cudaStreamCaptureStatusActive) return 0;
  return cudaGraphGetNodes(graph, nullptr, &count) == cudaSuccess ? count : 0;
}

void CaptureWatch::begin_work(const engine::WorkTag& tag) {
  open_.push_back({.tag = tag, .first = nodes_so_far()});
}

void CaptureWatch::end_work() {
  if (open_.empty()) return;
  Work work = open_.back();
  open_.pop_back();
  work.last = nodes_so_far();
  if (work.last > work.first) done_.push_back(work);
}

void CaptureWatch::label(std::vector<SnapshotNode>& nodes) const {
  // Inner work ends first and is the more exact label, so outer work must not overwrite it.
  std::vector<bool> labelled(nodes.size(), false);
  for (const Work& work : done_) {
    for (std::size_t n = work.first; n < std::min(work.last, nodes.size()); ++n) {
      if (labelled[n]) continue;
      labelled[n] = true;
      nodes[n].stage = work.tag.stage;
      nodes[n].layer = work.tag.layer;
      nodes[n].writes = work.tag.writes;
    }
  }
}

namespace {

void note_memory_events(GraphSnapshot& snapshot) {
  const auto inside = [&](std::uint64_t when) {
    return when > snapshot.capture_began && when <= snapshot.capture_ended;
  };
  for (const engine::Allocation& allocation : engine::AllocationLedger::of_process().read()) {
    if (inside(allocation.allocated_at)) {
      snapshot.events.push_back({.kind = CaptureEvent::Kind::Allocation, .what = allocation.owner});
    }
    if (inside(allocation.freed_at)) {
      snapshot.events.push_back({.kind = CaptureEvent::Kind::Release, .what = allocation.owner});
    }
  }
}

void note_failure(GraphSnapshot& snapshot, const engine::Error& error, const char* call) {
  const auto code = static_cast<cudaError_t>(error.device_error);
  snapshot.failure = {.code = error.device_error, .name = cudaGetErrorName(code), .call = call};
  if (code == cudaErrorStreamCaptureUnsupported) {
    snapshot.events.push_back({.kind = CaptureEvent::Kind::HostSync, .what = call});
  }
}

}  // namespace

engine::Result<Capture> capture_graph(const engine::DriverApi& driver, Subject& subject, int graph,
                                      cudaStream_t stream) {
  const engine::AllocationLedger& ledger = engine::AllocationLedger::of_process();
  GraphSnapshot around{.capture_began = ledger.clock()};
  CaptureWatch watch(stream);
  ENGINE_CUDA_TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
                  "Starting the capture");
  const engine::Status enqueued = subject.enqueue(graph, stream, watch);
  cudaGraph_t raw = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream, &raw);
  Capture capture;
  capture.graph = engine::Graph(raw);
  around.capture_ended = ledger.clock();
  note_memory_events(around);
  // The call that broke the capture says why; ending it only reports that it is broken.
  if (!enqueued.ok()) {
    (void)cudaGetLastError();
    capture.refused = enqueued.error();
    note_failure(around, enqueued.error(), enqueued.error().message.c_str());
  } else if (ended != cudaSuccess) {
    capture.refused = engine::cuda_error(ended, "Ending the capture");
    note_failure(around, *capture.refused, "cudaStreamEndCapture");
  } else {
    ENGINE_ASSIGN(capture.read, read_captured_graph(driver, raw));
    watch.label(capture.read.snapshot.nodes);
  }
  GraphSnapshot& snapshot = capture.read.snapshot;
  snapshot.capture_began = around.capture_began;
  snapshot.capture_ended = around.capture_ended;
  snapshot.events = std::move(around.events);
  snapshot.failure = std::move(around.failure);
  return capture;
}

}  // namespace profiling

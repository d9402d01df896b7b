#include "profiling/hazards/proofs/capture_watch.h"

#include <algorithm>

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
    }
  }
}

}  // namespace profiling

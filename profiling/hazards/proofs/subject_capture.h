// One capture of a subject's work, with everything the rules need even if CUDA refuses it.
#pragma once

#include <cuda_runtime_api.h>
#include <optional>
#include <vector>

#include "engine/device/driver_api.h"
#include "engine/device/handles.h"
#include "engine/model/error.h"
#include "engine/observe/step_observer.h"
#include "profiling/hazards/model/snapshot.h"
#include "profiling/hazards/proofs/subject.h"
#include "profiling/hazards/snapshot/graph_reader.h"

namespace profiling {

// Which work the nodes of a graph under capture belong to, derived from the node counts before and
// after it. Does not use CUPTI: an experiment must not depend on a tool that changes timing.

class CaptureWatch final : public engine::StepObserver {
 public:
  explicit CaptureWatch(cudaStream_t stream) : stream_(stream) {}

  void begin_work(const engine::WorkTag& tag) override;
  void end_work() override;

  /// Labels nodes, which are in creation order.
  void label(std::vector<SnapshotNode>& nodes) const;

 private:
  struct Work {
    engine::WorkTag tag;
    std::size_t first = 0;
    std::size_t last = 0;  // one past the end
  };
  std::size_t nodes_so_far() const;

  cudaStream_t stream_;
  std::vector<Work> open_;
  std::vector<Work> done_;
};

struct Capture {
  engine::Graph graph;                   // empty if refused
  ReadGraph read;                        // capture times, events and failure filled in; no name
  std::optional<engine::Error> refused;  // by the call that broke the capture, or by its end
};

/// An error means that a captured graph could not be read.
engine::Result<Capture> capture_graph(const engine::DriverApi& driver, Subject& subject, int graph,
                                      cudaStream_t stream);

}  // namespace profiling

// Which work the nodes of a graph under capture belong to, derived from the node counts before and
// after it. Does not use CUPTI: an experiment must not depend on a tool that changes timing.
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "engine/observe/step_observer.h"
#include "profiling/hazards/model/snapshot.h"

namespace profiling {

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

}  // namespace profiling

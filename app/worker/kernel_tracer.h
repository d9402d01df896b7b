// The worker's kernel recorder in the form the linear benchmark needs: sums over each replay.
#pragma once

#include <vector>

#include "engine/bench/linear_bench.h"
#include "profiling/trace/host_spans.h"

namespace app {

class KernelTracer final : public engine::ReplayTracer {
 public:
  explicit KernelTracer(profiling::ActivityCollector& collector) : collector_(collector) {}
  engine::StepObserver& observer() override { return collector_; }
  std::vector<engine::TracedReplay> take() override;

 private:
  profiling::ActivityCollector& collector_;
};

}  // namespace app

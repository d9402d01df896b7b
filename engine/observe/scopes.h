// Brackets of the StepObserver as scopes, so that an early return cannot leave one open. Each is an
// NVTX range as well. CUDA only.
#pragma once

#include "engine/observe/stage_range.h"
#include "engine/observe/step_observer.h"

namespace engine {

class WorkScope {
 public:
  WorkScope(StepObserver& observer, const WorkTag& tag) : observer_(observer), range_(tag) {
    observer_.begin_work(tag);
  }
  ~WorkScope() { observer_.end_work(); }
  WorkScope(const WorkScope&) = delete;
  WorkScope& operator=(const WorkScope&) = delete;

 private:
  StepObserver& observer_;
  StageRange range_;
};

class IterationScope {
 public:
  IterationScope(StepObserver& observer, int iteration) : observer_(observer), range_(iteration) {
    observer_.begin_iteration(iteration);
  }
  ~IterationScope() { observer_.end_iteration(); }
  IterationScope(const IterationScope&) = delete;
  IterationScope& operator=(const IterationScope&) = delete;

 private:
  StepObserver& observer_;
  StageRange range_;
};

}  // namespace engine

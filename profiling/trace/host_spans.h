// StepObserver of the CPU flavour: collects the backend's host spans as activity records.
#pragma once

#include <memory>

#include "engine/observe/step_observer.h"
#include "profiling/hazards/model/snapshot.h"
#include "profiling/trace/activity.h"

namespace profiling {

/// An observer whose records can be taken after end_run(). One run at a time.
class ActivityCollector : public engine::StepObserver {
 public:
  /// Records of the last finished run; leaves the collector empty.
  virtual Activity take() = 0;
  /// The graph that the run captured, with the known memory; no graphs = nothing was captured.
  /// Removes it from the collector. Device and library are not filled in.
  virtual Snapshot take_snapshot() { return {}; }
};

std::unique_ptr<ActivityCollector> make_host_span_collector();

}  // namespace profiling

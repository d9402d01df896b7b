// A run that stands still, as far as it could be told without waiting for it.
#pragma once

#include "profiling/hazards/model/experiment.h"
#include "profiling/hazards/model/snapshot.h"

namespace profiling {

struct StalledRun {
  Snapshot snapshot;  // one graph and the ledger, or nothing before a capture; who took it is empty
  Stall stall;
};

}  // namespace profiling

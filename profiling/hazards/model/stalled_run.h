// A stalled run, as far as its state is known without waiting for it.
#pragma once

#include "profiling/hazards/model/experiment.h"
#include "profiling/hazards/model/snapshot.h"

namespace profiling {

struct StalledRun {
  Snapshot snapshot;  // one graph and the ledger, or nothing before a capture; facts about the
                      // device are empty
  Stall stall;
};

}  // namespace profiling

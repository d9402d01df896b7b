// A against B in one measurement: blocks in the order A B B A, so that drift affects both equally.
#pragma once

#include <vector>

#include "app/sweep/planned_run.h"
#include "engine/model/error.h"

namespace app {

inline constexpr int kMinBlocks = 2;
inline constexpr int kMaxBlocks = 64;

struct InterleavedOrder {
  engine::RunRequest a;
  engine::RunRequest b;
  int blocks = 8;       // A and B together; even, 2..64. Fewer than 8 cannot resolve a difference
  int iterations = 20;  // per block, instead of the requests' own
};

/// The error names the side that the worker refuses, or the number that is out of range.
engine::Result<std::vector<PlannedRun>> plan_interleaved(const InterleavedOrder& order,
                                                         const WorkerHello& hello);

}  // namespace app

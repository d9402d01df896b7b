// Snapshots and visits in which every field has a value drawn from a seed.
#pragma once

#include "profiling/session/session_file.h"

namespace profiling {

/// At least two graphs, with nodes of every kind.
Snapshot sample_snapshot(int seed);

/// Findings, proofs, experiments and outcomes over sample_snapshot(seed).
RecordedVisit sample_visit(int seed);

}  // namespace profiling

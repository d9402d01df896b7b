// What the markers of an experiment cost: its graphs with and without them, replayed in turns.
#pragma once

#include "profiling/hazards/proofs/experiment_captures.h"
#include "profiling/hazards/proofs/replay_launcher.h"

namespace profiling {

/// Only of plain replays: whatever else an experiment changes costs something itself.
bool measures_markers(const Experiment& experiment);

/// Before the markers are added. None where CUDA refuses: a graph that allocates has no copies.
engine::Graph copy_of(const CapturedGraph& captured);

/// The step with and without markers in turns, after the replays that count were right.
engine::Status measure_marker_cost(ExperimentState& state, ExperimentCaptures& captures,
                                   ReplayLauncher& launcher);

}  // namespace profiling

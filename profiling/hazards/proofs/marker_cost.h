// Overhead of an experiment's markers: its graphs with and without them, replays interleaved.
#pragma once

#include "profiling/hazards/proofs/experiment_captures.h"
#include "profiling/hazards/proofs/replay_launcher.h"

namespace profiling {

/// Only plain replays measure it: any other change of an experiment has its own cost.
bool measures_markers(const Experiment& experiment);

/// Before the markers are added. None if CUDA refuses: a graph that allocates cannot be copied.
engine::Graph copy_of(const CapturedGraph& captured);

/// The step with and without markers, interleaved, after the checked replays were correct.
engine::Status measure_marker_cost(ExperimentState& state, ExperimentCaptures& captures,
                                   ReplayLauncher& launcher);

}  // namespace profiling

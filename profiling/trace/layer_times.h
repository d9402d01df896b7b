// Time of every stage in every linear layer of the step: what an expert layer's two projections and
// the activation between them take. No CUDA.
#pragma once

#include <vector>

#include "engine/model/stage.h"
#include "profiling/trace/statistics.h"

namespace profiling {

struct LayerTime {
  int layer = 0;  // counts engine::linear_layers()
  engine::Stage stage = engine::Stage::Other;
  /// One sample per traced iteration: the time in which at least one of its records ran.
  Distribution time;
};

/// Of the first `layers` of them, by layer and stage. One pass over the records, which are sorted
/// by start; launches of graphs whose nodes were not traced are no stage's.
std::vector<LayerTime> layer_times(const Activity& activity, int layers);

}  // namespace profiling

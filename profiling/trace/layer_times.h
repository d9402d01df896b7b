// Time of every stage in every linear layer of the step, forward and backward apart: what an expert
// layer's two projections and the activation between them take. No CUDA.
#pragma once

#include <vector>

#include "engine/model/stage.h"
#include "profiling/trace/statistics.h"

namespace profiling {

struct LayerTime {
  int layer = 0;  // counts engine::linear_layers()
  engine::Stage stage = engine::Stage::Other;
  bool backward = false;
  /// One sample per traced iteration: the time in which at least one of its records ran.
  Distribution time;
};

/// Of the first `layers` of them, by layer, stage and pass. Records, which are sorted by start, do
/// not say which pass they are of: what prepares a product, such as quantizing its operands or
/// computing the activation again, is of that product's pass, so of the next one of its layer; a
/// bias is added right after fprop; what permutes tokens is known by its projection. Launches of
/// graphs whose nodes were not traced are no stage's.
std::vector<LayerTime> layer_times(const Activity& activity, int layers);

}  // namespace profiling

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

/// Times of the first `layers` layers, by layer, stage and pass. Records, which are sorted by
/// start, do not name their pass. Work that prepares a product, such as quantizing its operands or
/// computing the activation again, belongs to the pass of that product, which is the next one of
/// its layer; a bias is added right after fprop; a permutation is recognised by its projection.
/// Launches of graphs whose nodes were not traced belong to no stage.
std::vector<LayerTime> layer_times(const Activity& activity, int layers);

}  // namespace profiling

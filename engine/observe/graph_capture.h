// A graph of the step, as it is reported to those who watch a run.
#pragma once

#include <string>
#include <vector>

#include "engine/model/allocation.h"

namespace engine {

struct GraphCapture {
  void* graph = nullptr;              // a cudaGraph_t, instantiated once all are captured
  std::string name = "step";          // of the graphs of a step
  std::vector<GraphPool> pools = {};  // memory that only graphs use, later captures included
};

}  // namespace engine

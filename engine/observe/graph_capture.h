// A graph of the step, as those who watch a run are told of it.
#pragma once

#include <string>
#include <vector>

#include "engine/model/allocation.h"

namespace engine {

struct GraphCapture {
  void* graph = nullptr;      // a cudaGraph_t that will be instantiated next
  std::string name = "step";  // of the graphs of a step
  std::vector<GraphPool> pools =
      {};  // memory that only the graphs use, of all that will be captured
};

}  // namespace engine

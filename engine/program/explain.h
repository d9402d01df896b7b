// A step's program in words and numbers, so that a person can read what the step will do before it
// runs.
#pragma once

#include <string>
#include <vector>

#include "engine/program/work.h"

namespace engine {

/// "H = X Wup^T", "quantize A from H, columnwise".
std::string sentence_of(const StepProgram& program, const Operation& operation);

struct ExplainedOperation {
  std::string part;   // "forward", "backward, micro-batch 2", "once before the first step"
  std::string graph;  // that it is captured in; empty for what is run before the first step
  Stage stage = Stage::Other;
  int layer = 0;
  std::string sentence;
  OperationWork work = {};
};

/// All operations in the order in which they are launched.
std::vector<ExplainedOperation> explain(const StepProgram& program, const WorkCase& routing);

}  // namespace engine

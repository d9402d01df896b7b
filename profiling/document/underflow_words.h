// What the number of underflowed elements means, wherever it is shown: as a tooltip, below a table,
// after a line of the command line.
#pragma once

#include <string>

#include "engine/model/run_request.h"
#include "engine/model/step_tensors.h"

namespace profiling {

inline constexpr const char* kUnderflowMeaning =
    "Elements that were not zero and became zero. Of NVFP4 columnwise they are counted after its "
    "Hadamard transform is undone, which leaves few exact zeros: not to be compared with rowwise";

/// Whether the codes of this direction are of elements that a Hadamard transform has mixed.
inline bool has_transformed_codes(const engine::Recipe& recipe, engine::OperandRole role,
                                  bool columnwise) {
  return engine::traits_of(recipe).hadamard && recipe.hadamard && columnwise &&
         role != engine::OperandRole::Weights;
}

/// The meaning with its subject, for where no tooltip can say it.
inline std::string underflow_note() {
  std::string meaning = kUnderflowMeaning;
  meaning.front() = 'e';  // within a sentence
  return "Underflow: " + meaning + ".";
}

}  // namespace profiling

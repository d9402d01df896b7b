// Where the error of an expert layer's Y can come from: the operands that its forward pass
// quantizes. What leaving each of them unquantized changes is measured by both backends.
#pragma once

#include <vector>

#include "engine/program/step_program.h"

namespace engine {

/// In the order of StepTensor, for layer 0. Empty without a forward pass, and where nothing is
/// quantized.
std::vector<StepTensor> error_sources(const StepProgram& program);

}  // namespace engine

// Values of the operand that a comparison quantizes, as the step itself has them: in an expert
// layer that begins at tokens, a row of X is a copy of its token, and a row of dY its token's
// gradient times the probability of the expert.
#pragma once

#include <memory>
#include <span>

#include "engine/input/tensor_source.h"

namespace engine {

/// open_source() of layer 0 where the step begins at rows. `splits`: rows of each expert.
Result<std::unique_ptr<TensorSource>> open_compared_source(const RunRequest& request,
                                                           OperandRole role,
                                                           std::span<const std::int64_t> splits);

}  // namespace engine

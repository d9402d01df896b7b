// Whether the tensors that a request reads from files have the sizes of its step, in the words of
// the settings that a person has: an expert layer's dY has k columns, and a token's row counts for
// each of its experts.
#pragma once

#include <optional>

#include "engine/input/tensor_source.h"
#include "engine/model/error.h"
#include "engine/model/run_request.h"

namespace engine {

/// The request's shape with the settings that follow from this tensor for `operand`, one of the
/// request's own: the sizes that check_operand_files() accepts. None: its dimensions are not the
/// operand's, or no settings make it fit.
std::optional<ShapeSpec> shape_with(const RunRequest& request, const InputSpec& operand,
                                    const TensorEntry& tensor);

/// The refusal names the settings that make the tensor fit, but only if the request is then valid
/// and everything that fits now still does, so that following the advice never leads back here.
/// Other faults of a file are reported when it is opened.
Status check_operand_files(const RunRequest& request);

}  // namespace engine

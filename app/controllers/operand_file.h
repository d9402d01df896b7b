// An operand whose values come from a file: which tensor of the file is meant, and which sizes of
// the step follow from it. A worker has read the file's header.
#pragma once

#include <string>

#include "app/protocol/worker_link.h"
#include "engine/input/tensor_source.h"
#include "engine/model/error.h"
#include "engine/model/run_request.h"

namespace app {

/// The request's own field for the values of an operand.
engine::InputSpec& input_of(engine::RunRequest& request, engine::OperandRole role);

/// "X", "W", "dY".
const char* operand_name(engine::OperandRole role);

/// `shape` with the sizes that the tensor gives. InvalidArgument: its dimensions are not the
/// operand's; the sentence says which the operand has.
engine::Result<engine::ShapeSpec> shape_of(const engine::TensorEntry& tensor,
                                           engine::OperandRole role, engine::ShapeSpec shape);

/// `request`, whose operand comes from the file of the report, with the tensor that is meant and
/// the sizes that follow from it; the only tensor that can be used need not be named. The error
/// says why the file does not fit.
engine::Result<engine::RunRequest> fitted_to_file(engine::RunRequest request,
                                                  engine::OperandRole role,
                                                  const FileReport& report);

}  // namespace app

// An operand whose values come from a file: which tensor of the file is meant, and which sizes of
// the step follow from it. A worker has read the file's header.
#pragma once

#include <string>

#include "app/controllers/request_operand.h"
#include "app/protocol/worker_link.h"
#include "engine/input/tensor_source.h"
#include "engine/model/error.h"
#include "engine/model/run_request.h"

namespace app {

/// "X", "W", "Wdown", "dY".
const char* operand_name(RequestOperand operand);

/// The request's shape with the sizes that the tensor gives. InvalidArgument: its dimensions are
/// not the operand's; the sentence says which the operand has.
engine::Result<engine::ShapeSpec> shape_of(const engine::TensorEntry& tensor,
                                           RequestOperand operand,
                                           const engine::RunRequest& request);

/// Whether all of the file's tensors are integers: no operand, but perhaps a recording of routing.
bool holds_integers(const FileReport& report);

/// `request`, whose operand comes from the file of the report, with the tensor that is meant and
/// the sizes that follow from it: where none is named, the one with the operand's usual name, else
/// the first that fits. The error says why the file does not fit.
engine::Result<engine::RunRequest> fitted_to_file(engine::RunRequest request,
                                                  RequestOperand operand, const FileReport& report);

}  // namespace app

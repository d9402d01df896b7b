// What is asked of a request in several places of the window.
#pragma once

#include <string>

#include "app/gui/controls/widgets.h"
#include "engine/gemm/support.h"
#include "engine/input/tensor_source.h"
#include "engine/model/run_request.h"

namespace app::choices {

/// The request's own field for the values of an operand.
engine::InputSpec& input_of(engine::RunRequest& request, engine::OperandRole role);

/// A choice as the gate table allows it, with its sentence.
controls::Options gate(const engine::Verdict& verdict);

/// One line that tells runs apart: preset or sizes, recipe, routing, launch.
std::string summary(const engine::RunRequest& request);

}  // namespace app::choices

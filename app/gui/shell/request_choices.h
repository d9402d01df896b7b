// The names a person reads for the values of a request, in the order of their enums.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/gui/controls/widgets.h"
#include "engine/gemm/support.h"
#include "engine/input/tensor_source.h"
#include "engine/model/run_request.h"

namespace app::choices {

const std::vector<std::string>& distributions();  // one more than the enum: "From a file"
const std::vector<std::string>& elements();
const std::vector<std::string>& routings();
const std::vector<std::string>& scalings();
const std::vector<std::string>& formats();
const std::vector<std::string>& algorithms();
const std::vector<std::string>& workspaces();
const std::vector<std::string>& launches();
const std::vector<std::string>& backends();
const std::vector<std::string>& passes();
const std::vector<std::string>& weight_storages();
const std::vector<std::string>& setup_arrays();
const std::vector<std::string>& split_widths();
const std::vector<std::string>& wgrad_types();      // BF16, FP32
const std::vector<std::string>& high_precisions();  // BF16, FP16
const std::vector<std::string>& trace_levels();
const std::vector<std::string>& cache_modes();
const std::vector<std::string>& paces();

/// The request's own field for the values of an operand.
engine::InputSpec& input_of(engine::RunRequest& request, engine::OperandRole role);

/// A choice as the gate table allows it, with its sentence.
controls::Options gate(const engine::Verdict& verdict);

/// One line that tells runs apart: preset or sizes, recipe, routing, launch.
std::string summary(const engine::RunRequest& request);

/// engine::validate's messages begin with the path of the field they are about.
inline std::string_view field_of(std::string_view message) {
  return message.substr(0, message.find(' '));
}

}  // namespace app::choices

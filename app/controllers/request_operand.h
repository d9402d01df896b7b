// The operands whose values a request chooses.
#pragma once

#include <cstdint>

#include "engine/model/run_request.h"

namespace app {

/// WDown only of an expert layer, whose W is Wup.
enum class RequestOperand : std::uint8_t { X, W, WDown, DY };
inline constexpr int kRequestOperands = 4;

/// The request's own field for the values of an operand.
engine::InputSpec& input_of(engine::RunRequest& request, RequestOperand operand);

}  // namespace app

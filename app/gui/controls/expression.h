// Arithmetic as typed into a number field: + - * / ( ) and the suffixes k, M, Ki, Mi.
#pragma once

#include <optional>
#include <string_view>

namespace app::controls {

/// Empty if the text is not a complete expression or its value is not finite.
std::optional<double> evaluate_expression(std::string_view text);

}  // namespace app::controls

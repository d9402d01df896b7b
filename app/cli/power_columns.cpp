#include "app/cli/power_columns.h"

#include <fmt/format.h>

namespace app::cli {
namespace {

using Json = nlohmann::ordered_json;

Json known(double value) { return value < 0 ? Json() : Json(value); }

}  // namespace

std::string power_columns(const profiling::PowerSummary& power, bool of_shape) {
  const auto cell = [](double value, int width) {
    return value < 0 ? fmt::format("{:>{}}", "none", width)
                     : fmt::format("{:>{}.0f}", value, width);
  };
  return fmt::format("{}{}{}{}  {}", cell(power.sm_clock_mhz, 8), of_shape ? "*" : " ",
                     cell(power.power_w, 5), cell(power.temperature_max_c, 5),
                     profiling::clock_reason_names(power.clock_reasons));
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json power_json(const BenchStart& start, const profiling::PowerSummary& power, bool of_shape) {
  if (!start.power_missing.empty()) return {{"missing", start.power_missing}};
  return {{"samples", power.samples},
          {"of", of_shape ? "shape" : "row"},
          {"method", start.power_method},
          {"sm_clock_mhz", known(power.sm_clock_mhz)},
          {"sm_clock_min_mhz", known(power.sm_clock_min_mhz)},
          {"power_w", known(power.power_w)},
          {"power_max_w", known(power.power_max_w)},
          {"temperature_max_c", known(power.temperature_max_c)},
          {"clock_limits", profiling::clock_reason_names(power.clock_reasons)}};
}

}  // namespace app::cli

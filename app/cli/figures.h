// Measured numbers as the command line prints them.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

namespace app::cli {

/// Two decimals and the unit; "exact" where there is no noise, "none" where there is no signal.
inline std::string decibels(double value, const char* unit = "") {
  if (std::isnan(value)) return "none";
  return std::isinf(value) ? "exact" : fmt::format("{:.2f}{}", value, unit);
}

/// JSON has no such numbers: null for one that is not known, and what Protobuf's JSON writes for
/// infinity.
inline nlohmann::ordered_json json_number(double value) {
  if (std::isnan(value)) return nullptr;
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

}  // namespace app::cli

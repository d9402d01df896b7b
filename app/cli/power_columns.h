// Clock and power of a benchmark's row, for people and for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "app/protocol/bench_report.h"

namespace app::cli {

/// The headings above power_columns().
inline constexpr const char* kPowerColumns = "  SM MHz     W    C  clock limits";
/// A clock marked * covers the whole shape.
std::string power_columns(const profiling::PowerSummary& power, bool of_shape);
/// {"missing": why} or the readings; unknown values are null.
nlohmann::ordered_json power_json(const BenchStart& start, const profiling::PowerSummary& power,
                                  bool of_shape);
nlohmann::ordered_json text_or_null(const std::string& text);

}  // namespace app::cli

// How a benchmark's rows are written: a table for people, one JSON object per line for programs.
#pragma once

#include <string>

#include "app/protocol/bench_report.h"

namespace app::cli {

/// What ran where, and how: the lines above the table.
std::string bench_header(const BenchStart& start);
/// The shape and the column headings; `start` decides which columns there are.
std::string bench_shape_header(const BenchStart& start, const engine::BenchShape& shape);
std::string bench_line(const BenchStart& start, const BenchRowReport& report);

/// Self-contained: machine, versions and date (UTC, ISO 8601) are in every line. Unknown values are
/// null.
std::string bench_json(const BenchStart& start, const std::string& date,
                       const BenchRowReport& report);

}  // namespace app::cli

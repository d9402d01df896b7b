// How a benchmark's rows are written: a table for people, one JSON object a line for programs.
#pragma once

#include <string>

#include "app/protocol/bench_report.h"

namespace app::cli {

/// What ran where, and how: the lines above the table.
std::string bench_header(const BenchStart& start);
/// The shape and the names of the columns; `start` decides which there are.
std::string bench_shape_header(const BenchStart& start, const engine::BenchShape& shape);
std::string bench_line(const BenchStart& start, const BenchRowReport& report);

/// Complete in itself: machine, versions and date (UTC, ISO 8601) are in every line. What is not
/// known is null.
std::string bench_json(const BenchStart& start, const std::string& date,
                       const BenchRowReport& report);

}  // namespace app::cli

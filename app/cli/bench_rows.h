// How the rows of a benchmark are written: a table for people, one JSON object per line for
// programs.
#pragma once

#include <string>

#include "app/protocol/orders.h"

namespace app::cli {

/// What ran where, how, and with which peer: the lines above the table.
std::string bench_header(engine::BenchSuite suite, const BenchStart& start);

/// The row's shape and the column headings; `start` decides which columns there are.
std::string shape_header(const BenchStart& start, const engine::BenchRow& row);
std::string shape_header(const BenchStart& start, const engine::StepBenchRow& row);
std::string row_line(const BenchStart& start, const BenchRowReport& report);
std::string row_line(const BenchStart& start, const StepRowReport& report);

/// Self-contained: machine, versions and date (UTC, ISO 8601) are in every line. Unknown values are
/// null. A skipped row of a step has "skipped" and no times.
std::string row_json(const BenchStart& start, const std::string& date,
                     const BenchRowReport& report);
std::string row_json(const BenchStart& start, const std::string& date, const StepRowReport& report);

}  // namespace app::cli

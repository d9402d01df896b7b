// How rows of the linear benchmark are written: a table for people, one JSON object a line for
// programs.
#pragma once

#include <string>

#include "app/protocol/bench_report.h"

namespace app::cli {

/// What ran where, and how, and with whom: the lines above the table.
std::string linear_header(const BenchStart& start);
/// The shape, its routing and the names of the columns.
std::string linear_shape_header(const BenchStart& start, const engine::LinearBenchRow& row);
std::string linear_line(const BenchStart& start, const LinearRowReport& report);

/// Complete in itself, as bench_json(). A row that was skipped has "skipped" and no times.
std::string linear_json(const BenchStart& start, const std::string& date,
                        const LinearRowReport& report);

}  // namespace app::cli

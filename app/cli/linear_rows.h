// How rows of the linear benchmark are written: a table for people, one JSON object per line for
// programs.
#pragma once

#include <string>

#include "app/protocol/bench_report.h"

namespace app::cli {

/// What ran where, how, and with which peer: the lines above the table.
std::string linear_header(const BenchStart& start);
/// The shape, its routing and the column headings.
std::string linear_shape_header(const BenchStart& start, const engine::LinearBenchRow& row);
std::string linear_line(const BenchStart& start, const LinearRowReport& report);

/// Self-contained, like bench_json(). A skipped row has "skipped" and no times.
std::string linear_json(const BenchStart& start, const std::string& date,
                        const LinearRowReport& report);

}  // namespace app::cli

// Tables that recordings had before each tensor of a run had a row in `tensors`: what quantization
// did to an operand was in `operands`, by the operand's name, and only expert layers had a table
// of their tensors; and before delayed scaling over steps was a comparison of recipes. The one
// place that knows them.
#pragma once

#include <string>
#include <vector>

#include "profiling/session/session_file.h"
#include "profiling/session/table_reader.h"

namespace profiling {

/// Names of the former tables that today's recordings do not have.
std::vector<std::string> former_tables();

/// Fills RunResult::tensors of a recording that has no table `tensors`.
engine::Status read_former_tensors(const TableSource& source, std::vector<RecordedRun>& runs);

/// Adds what a recording has in `amax_histories` to its comparisons, by the time of their end.
engine::Status read_former_histories(const TableSource& source,
                                     std::vector<RecordedComparison>& comparisons);

}  // namespace profiling

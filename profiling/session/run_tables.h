// The tables of a session file as the runs of the window, each read in one pass in key order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/error.h"
#include "profiling/session/row_reader.h"
#include "profiling/session/session_file.h"

namespace profiling {

struct TableSource {
  sqlite3* database = nullptr;
  const std::string& path;
  const RequestCodec& codec;
  const SessionLimits& limits;
  std::int64_t file_bytes = 0;  // main file and log: no table can hold more rows than bytes
  MemoryBudget& budget;
  std::vector<std::int64_t>& record_counts;  // filled from the table of runs
};

/// Fills notes and runs. Single cells are checked; what must hold between them is run_rules.h.
engine::Status read_tables(const TableSource& source, Session& session);

/// Whether a session whose tables are these could be opened; InvalidArgument says why not. `path`
/// begins the sentence.
engine::Status check_readable(sqlite3* database, const std::string& path,
                              const RequestCodec& codec);

}  // namespace profiling

// A table whose rows belong to runs.
#pragma once

#include "profiling/session/owned_table.h"

namespace profiling {

class RunTable : public OwnedTable<RecordedRun> {
 public:
  RunTable(const TableSource& source, Session& session, const char* table, const char* query,
           std::size_t bytes_per_row)
      : OwnedTable(
            source, session.runs,
            {.key = "run_id", .table = table, .query = query, .bytes_per_row = bytes_per_row}) {}
};

}  // namespace profiling

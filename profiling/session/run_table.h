// A table whose rows belong to runs, read in one pass in key order.
#pragma once

#include <cstdint>

#include "profiling/session/run_tables.h"

namespace profiling {

/// One table read to its end; `visit` gets the run of every row and reads the cells after run_id.
class RunTable {
 public:
  RunTable(const TableSource& source, Session& session, const char* table, const char* query,
           std::size_t bytes_per_row)
      : rows_(source.database, source.path, table, query, source.budget, bytes_per_row),
        session_(session) {}

  template <class Visit>
  engine::Status each(Visit visit) {
    while (rows_.next()) {
      const auto last = static_cast<std::int64_t>(session_.runs.size());
      const auto run_id = rows_.integer<std::int64_t>("run_id", 1, last);
      if (rows_.ok()) visit(session_.runs[static_cast<std::size_t>(run_id - 1)], rows_);
    }
    return rows_.take();
  }

 private:
  RowReader rows_;
  Session& session_;
};

}  // namespace profiling

// Rows of one table that belong to visits, findings or experiments by number: each row reaches the
// one it names, or the reading ends.
#pragma once

#include <cstdint>

#include "profiling/session/row_reader.h"
#include "profiling/session/run_tables.h"

namespace profiling {

/// A table whose rows belong to visits; the functions get a visit's report, or a part of it.
class VisitTable {
 public:
  VisitTable(const TableSource& source, Session& session, const char* table, const char* query,
             std::size_t bytes_per_row)
      : rows_(source.database, source.path, table, query, source.budget, bytes_per_row),
        session_(session) {}

  template <class Visit>
  engine::Status each(Visit visit) {
    while (rows_.next()) {
      const auto id = rows_.integer<std::int64_t>("visit_id", 1, std::ssize(session_.visits));
      if (rows_.ok()) visit(session_.visits[static_cast<std::size_t>(id - 1)].report, rows_);
    }
    return rows_.take();
  }
  template <class Visit>
  engine::Status each_finding(Visit visit) {
    return each([&](DoctorReport& report, RowReader& rows) {
      const auto at = rows.integer<std::size_t>("finding", 0, std::ssize(report.findings) - 1);
      if (rows.ok()) visit(report.findings[at], rows);
    });
  }
  template <class Visit>
  engine::Status each_outcome(Visit visit) {
    return each([&](DoctorReport& report, RowReader& rows) {
      const auto at =
          rows.integer<std::size_t>("experiment", 0, std::ssize(report.experiments) - 1);
      if (rows.ok()) visit(report.experiments[at].outcome, rows);
    });
  }

 private:
  RowReader rows_;
  Session& session_;
};

}  // namespace profiling

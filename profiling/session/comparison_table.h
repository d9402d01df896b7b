// A table whose rows belong to comparisons, read in one pass in key order.
#pragma once

#include <cstdint>

#include "profiling/session/run_tables.h"

namespace profiling {

/// One table read to its end; `visit` gets the comparison of every row and reads the cells after
/// comparison_id.
class ComparisonTable {
 public:
  ComparisonTable(const TableSource& source, Session& session, const char* table, const char* query,
                  std::size_t bytes_per_row)
      : rows_(source.database, source.path, table, query, source.budget, bytes_per_row),
        session_(session) {}

  template <class Visit>
  engine::Status each(Visit visit) {
    while (rows_.next()) {
      const auto last = static_cast<std::int64_t>(session_.comparisons.size());
      const auto id = rows_.integer<std::int64_t>("comparison_id", 1, last);
      if (rows_.ok()) {
        visit(session_.comparisons[static_cast<std::size_t>(id - 1)].comparison, rows_);
      }
    }
    return rows_.take();
  }

  /// The same with the report that the next cell names.
  template <class Visit>
  engine::Status each_report(Visit visit) {
    return each([&visit](engine::RecipeComparison& comparison, RowReader& rows) {
      const auto report =
          rows.integer<std::size_t>("report", 0, std::ssize(comparison.reports) - 1);
      if (rows.ok()) visit(comparison.reports[report], rows);
    });
  }

 private:
  RowReader rows_;
  Session& session_;
};

}  // namespace profiling

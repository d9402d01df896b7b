// A table whose rows belong to comparisons, or to their reports.
#pragma once

#include "profiling/session/owned_table.h"

namespace profiling {

class ComparisonTable {
 public:
  ComparisonTable(const TableSource& source, Session& session, const char* table, const char* query,
                  std::size_t bytes_per_row)
      : table_(source, session.comparisons,
               {.key = "comparison_id",
                .table = table,
                .query = query,
                .bytes_per_row = bytes_per_row}) {}

  template <class Visit>
  engine::Status each(Visit visit) {
    return table_.each([&visit](RecordedComparison& recorded, RowReader& rows) {
      visit(recorded.comparison, rows);
    });
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
  OwnedTable<RecordedComparison> table_;
};

}  // namespace profiling

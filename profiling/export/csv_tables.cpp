// One CSV file per table. The first column says what a row belongs to: the number of the run, of
// the comparison, of the visit.
#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/model/path_text.h"
#include "profiling/compare/recorded_sweeps.h"
#include "profiling/document/doctor_tables.h"
#include "profiling/document/run_tables.h"
#include "profiling/export/chrome_trace.h"
#include "profiling/export/csv.h"

namespace profiling {
namespace {

using std::filesystem::path;

std::string file_of(const path& folder, const Table& table) {
  return (folder / (table.name + ".csv")).string();
}

/// The tables of every value of one kind, joined by its number. `tables_of` makes the same tables,
/// with the same columns, for each of them.
template <class Recorded, class TablesOf>
engine::Status export_kind(const path& folder, std::string_view owner,
                           const std::vector<Recorded>& values, const TablesOf& tables_of) {
  if (values.empty()) return {};
  std::vector<std::vector<Table>> tables;
  for (const Recorded& value : values) tables.push_back(tables_of(value));
  for (std::size_t t = 0; t < tables.front().size(); ++t) {
    CsvFile file(file_of(folder, tables.front()[t]), {std::string(owner)});
    for (std::size_t i = 0; i < tables.size(); ++i) ENGINE_TRY(file.add(tables[i][t], {i + 1}));
    ENGINE_TRY(file.commit(tables.front()[t].only_with_rows));
  }
  return {};
}

/// Graphs of runs and of visits, in one file.
engine::Status export_snapshots(const path& folder, const Session& session) {
  const Snapshot none;
  CsvFile file(file_of(folder, snapshot_nodes_table(none)), {"owner", "number"});
  for (std::size_t i = 0; i < session.runs.size(); ++i) {
    ENGINE_TRY(file.add(snapshot_nodes_table(session.runs[i].snapshot), {"run", i + 1}));
  }
  for (std::size_t i = 0; i < session.visits.size(); ++i) {
    ENGINE_TRY(file.add(snapshot_nodes_table(session.visits[i].report.snapshot), {"visit", i + 1}));
  }
  return file.commit(/*only_with_rows=*/true);
}

/// Sweeps, with the number of each run.
engine::Status export_sweeps(const path& folder, const Session& session) {
  std::vector<const RecordedRun*> runs;
  for (const RecordedRun& run : session.runs) runs.push_back(&run);
  const Table table = sweeps_table(sweeps_of(runs));
  CsvFile file(file_of(folder, table), {});
  ENGINE_TRY(file.add(table, {}));
  return file.commit(table.only_with_rows);
}

}  // namespace

engine::Status export_records_csv(const Session& session, const std::string& path,
                                  const TraceChoice& choice) {
  CsvFile file(path, {"run"});
  for (std::size_t i = 0; i < session.runs.size(); ++i) {
    if (choice.run && *choice.run != i) continue;
    ENGINE_TRY(file.add(records_table(session.runs[i], choice.range), {i + 1}));
  }
  return file.commit(/*only_with_rows=*/false);
}

engine::Status export_csv(const Session& session, const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    return engine::Error{
        .code = engine::ErrorCode::Io,
        .message = fmt::format("cannot make the folder {}: {}", engine::shown_path(folder),
                               engine::path_error_text(folder, failed.value()))};
  }
  const path base(folder);
  ENGINE_TRY(export_kind(base, RecordedRun::kKind.name, session.runs, run_tables));
  ENGINE_TRY(export_sweeps(base, session));
  ENGINE_TRY(export_snapshots(base, session));
  ENGINE_TRY(
      export_kind(base, RecordedVisit::kKind.name, session.visits,
                  [](const RecordedVisit& visit) { return std::vector{findings_table(visit)}; }));
  return export_kind(base, RecordedComparison::kKind.name, session.comparisons,
                     [](const RecordedComparison& comparison) {
                       return std::vector{comparison_table(comparison), series_table(comparison)};
                     });
}

}  // namespace profiling

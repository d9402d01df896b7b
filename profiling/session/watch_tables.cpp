#include "profiling/session/watch_tables.h"

#include "profiling/session/run_table.h"
#include "profiling/session/table_cells.h"
#include "profiling/session/visit_table.h"
#include "profiling/session/watch_schema.h"

namespace profiling {

engine::Status read_replay_watches(const TableSource& source, Session& session) {
  RunTable watches(source, session, "replay_watches",
                   "SELECT * FROM replay_watches ORDER BY run_id", 0);
  return watches.each([](RecordedRun& run, RowReader& rows) {
    engine::ReplayWatchFacts& watch = run.result.watch;
    watch.replays = rows.integer<int>("replays", 0, kMaxWatchedReplays);
    watch.p99_us = rows.real("p99_us");
    watch.deadline_seconds = rows.real("deadline_seconds");
    watch.markers = rows.integer<int>("markers", 0, kMaxGraphNodes);
  });
}

engine::Status write_replay_watch(const Target& to, std::int64_t run_id, const RecordedRun& run) {
  TableWriter rows(to, "replay_watches", 5);
  const engine::ReplayWatchFacts& watch = run.result.watch;
  if (watch.replays > 0) {
    rows.row(run_id, watch.replays, watch.p99_us, watch.deadline_seconds, watch.markers);
  }
  return rows.take();
}

engine::Status read_stall_percentiles(const TableSource& source, Session& session) {
  VisitTable percentiles(source, session, "stall_percentiles",
                         "SELECT * FROM stall_percentiles ORDER BY visit_id, experiment", 0);
  return percentiles.each_outcome([](Outcome& outcome, RowReader& rows) {
    if (outcome.stall.empty()) return rows.refuse("this experiment has no stall");
    outcome.stall.front().p99_seconds = rows.real("p99_seconds");
  });
}

engine::Status write_stall_percentiles(const Target& to, std::int64_t visit_id,
                                       const DoctorReport& report) {
  TableWriter rows(to, "stall_percentiles", 3);
  std::int64_t number = 0;
  for (const ExperimentRecord& record : report.experiments) {
    if (!record.outcome.stall.empty() && record.outcome.stall.front().p99_seconds > 0.0) {
      rows.row(visit_id, number, record.outcome.stall.front().p99_seconds);
    }
    ++number;
  }
  return rows.take();
}

}  // namespace profiling

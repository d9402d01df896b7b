// Tables of how replays were watched: of a run, and of a visit's stalled one. Since schema
// version 7.
#pragma once

#include <cstdint>

#include "profiling/session/run_tables.h"
#include "profiling/session/table_writer.h"

namespace profiling {

/// After read_tables(): fills the runs it has made. Runs that replayed nothing have no row.
engine::Status read_replay_watches(const TableSource& source, Session& session);
engine::Status write_replay_watch(const Target& to, std::int64_t run_id, const RecordedRun& run);
/// After read_visits(), and beside write_visit().
engine::Status read_stall_percentiles(const TableSource& source, Session& session);
engine::Status write_stall_percentiles(const Target& to, std::int64_t visit_id,
                                       const DoctorReport& report);

}  // namespace profiling

// Tables of what went on beside the work of a run, and of what markers cost. Since schema
// version 6.
#pragma once

#include <cstdint>

#include "profiling/session/run_tables.h"
#include "profiling/session/table_writer.h"

namespace profiling {

/// After read_tables(): fills the runs it has made.
engine::Status read_event_tables(const TableSource& source, Session& session);
engine::Status write_event_tables(const Target& to, std::int64_t run_id, const RecordedRun& run);
/// After read_visits(), and beside write_visit().
engine::Status read_marker_costs(const TableSource& source, Session& session);
engine::Status write_marker_costs(const Target& to, std::int64_t visit_id,
                                  const DoctorReport& report);

}  // namespace profiling

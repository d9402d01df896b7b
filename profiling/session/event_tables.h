// Tables of what went on beside the work of a run. Since schema version 6.
#pragma once

#include <cstdint>

#include "profiling/session/run_tables.h"
#include "profiling/session/table_writer.h"

namespace profiling {

/// After read_tables(): fills the runs it has made.
engine::Status read_event_tables(const TableSource& source, Session& session);
engine::Status write_event_tables(const Target& to, std::int64_t run_id, const RecordedRun& run);

}  // namespace profiling

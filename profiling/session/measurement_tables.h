// Tables of what a run measured besides its iterations. Since schema version 5.
#pragma once

#include <cstdint>

#include "profiling/session/run_tables.h"
#include "profiling/session/table_writer.h"

namespace profiling {

/// After read_tables(): fills the runs it has made.
engine::Status read_measurement_tables(const TableSource& source, Session& session);
engine::Status write_measurement_tables(const Target& to, std::int64_t run_id,
                                        const RecordedRun& run);

/// Notes may change after their run was written.
engine::Status write_time_notes(const Target& to, std::int64_t run_id,
                                const std::vector<TimeNote>& notes);
engine::Status replace_time_notes(const Target& to, std::int64_t run_id,
                                  const std::vector<TimeNote>& notes);

}  // namespace profiling

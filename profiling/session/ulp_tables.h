// The largest error of every expert's X in units in the last place of its codes. Since schema
// version 6; experts of which nothing was quantized have no row.
#pragma once

#include <cstdint>

#include "profiling/session/run_tables.h"
#include "profiling/session/table_writer.h"

namespace profiling {

/// After read_tables(): fills the experts of the runs it has made.
engine::Status read_expert_ulps(const TableSource& source, Session& session);
engine::Status write_expert_ulps(const Target& to, std::int64_t run_id, const RecordedRun& run);

}  // namespace profiling

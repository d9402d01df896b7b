// The tables of the grouped linear step: errors of dX and dW, the product of a replay check, what a
// graph consists of, the algorithms tried, emulation. Since schema version 3.
#pragma once

#include <cstdint>

#include "profiling/session/run_tables.h"
#include "profiling/session/table_writer.h"

namespace profiling {

/// After read_tables(): fills the runs it has made.
engine::Status read_step_tables(const TableSource& source, Session& session);
engine::Status write_step_tables(const Target& to, std::int64_t run_id, const RecordedRun& run);

}  // namespace profiling

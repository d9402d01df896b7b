// The tables of amax histories: rows in, rows out, and what must hold between them. Since version 7
// of the schema.
#pragma once

#include <cstdint>

#include "engine/model/error.h"
#include "profiling/session/run_tables.h"
#include "profiling/session/session_file.h"
#include "profiling/session/table_writer.h"

namespace profiling {

/// What must be true of a history for the window to index into it blindly. The error names the
/// field, the value and the limit.
engine::Status check_history(const RecordedHistory& recorded);

/// Fills session.histories. Single cells are checked; the rest is check_history().
engine::Status read_histories(const TableSource& source, Session& session);

/// Inside the caller's transaction.
engine::Status write_history(const Target& to, std::int64_t history_id,
                             const RecordedHistory& recorded, const RequestCodec& codec);

}  // namespace profiling

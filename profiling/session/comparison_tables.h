// The tables of comparisons: rows in, rows out. They exist since version 2 of the schema.
#pragma once

#include <cstdint>

#include "engine/model/error.h"
#include "profiling/session/run_tables.h"
#include "profiling/session/session_file.h"
#include "profiling/session/table_writer.h"

namespace profiling {

/// Fills session.comparisons. Single cells are checked; what must hold between them is
/// comparison_rules.h.
engine::Status read_comparisons(const TableSource& source, Session& session);

/// Inside the caller's transaction.
engine::Status write_comparison(const Target& to, std::int64_t comparison_id,
                                const RecordedComparison& recorded, const RequestCodec& codec);

}  // namespace profiling

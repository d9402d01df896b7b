// The tables of numerics since version 5 of the schema; numerics_schema.h defines them.
#pragma once

#include <cstdint>

#include "profiling/session/run_tables.h"
#include "profiling/session/table_writer.h"

namespace profiling {

/// After read_tables() and read_comparisons(): fills what they have made.
engine::Status read_numerics_tables(const TableSource& source, Session& session);
engine::Status write_numerics_tables(const Target& to, std::int64_t run_id, const RecordedRun& run);
engine::Status write_comparison_numerics(const Target& to, std::int64_t comparison_id,
                                         const engine::RecipeComparison& comparison);

}  // namespace profiling

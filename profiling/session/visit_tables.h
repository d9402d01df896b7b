// The tables of visits to the graph doctor: findings, experiments and what came of them. The
// snapshot of a visit is in snapshot_tables.h. Since version 4.
#pragma once

#include <cstdint>

#include "profiling/session/run_tables.h"
#include "profiling/session/table_writer.h"

namespace profiling {

/// Inside the caller's transaction.
engine::Status write_visit(const Target& to, std::int64_t visit_id, const RecordedVisit& visit,
                           const RequestCodec& codec);

/// Fills session.visits, without their snapshots. Single cells are checked; what must hold between
/// them is doctor_rules.h.
engine::Status read_visits(const TableSource& source, Session& session);

}  // namespace profiling

// The tables of snapshots of captured graphs, which belong to runs and to visits. Since version 4.
#pragma once

#include <cstdint>

#include "profiling/session/run_tables.h"
#include "profiling/session/table_writer.h"

namespace profiling {

/// Whose snapshot it is.
struct SnapshotOwner {
  bool visit = false;   // else a run
  std::int64_t id = 0;  // run_id or visit_id
};

engine::Status write_snapshot(const Target& to, std::int64_t snapshot_id, SnapshotOwner owner,
                              const Snapshot& snapshot);

/// What the numbers in the doctor's tables mean, for people who query the file.
engine::Status write_doctor_words(const Target& to);

/// After the runs and visits themselves: fills their snapshots. Single cells are checked; what must
/// hold between them is doctor_rules.h.
engine::Status read_snapshots(const TableSource& source, Session& session);

}  // namespace profiling

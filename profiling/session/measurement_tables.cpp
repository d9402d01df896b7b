#include "profiling/session/measurement_tables.h"

#include "profiling/session/measurement_schema.h"
#include "profiling/session/run_table.h"

namespace profiling {
namespace {

engine::Status write_group(const Target& to, std::int64_t run_id, const RecordedRun& run) {
  TableWriter groups(to, "run_groups", 5);
  const RunGroup& group = run.group;
  if (group.kind == GroupKind::None) return groups.take();
  groups.row(run_id, kGroupKinds[static_cast<std::size_t>(group.kind)], group.id, group.position,
             group.label);
  return groups.take();
}

engine::Status read_groups(const TableSource& source, Session& session) {
  RunTable groups(source, session, "run_groups", "SELECT * FROM run_groups ORDER BY run_id", 0);
  return groups.each([](RecordedRun& run, RowReader& rows) {
    run.group.kind = static_cast<GroupKind>(rows.choice("kind", kGroupKinds));
    run.group.id = rows.count("group_id");
    run.group.position = rows.integer<int>("position", 0, kMaxGroupRuns - 1);
    run.group.label = rows.text("label");
  });
}

}  // namespace

engine::Status read_measurement_tables(const TableSource& source, Session& session) {
  return read_groups(source, session);
}

engine::Status write_measurement_tables(const Target& to, std::int64_t run_id,
                                        const RecordedRun& run) {
  return write_group(to, run_id, run);
}

}  // namespace profiling

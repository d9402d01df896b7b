#include "profiling/session/ulp_tables.h"

#include <cmath>

#include "profiling/session/run_table.h"

namespace profiling {

engine::Status read_expert_ulps(const TableSource& source, Session& session) {
  RunTable ulps(source, session, "expert_ulps", "SELECT * FROM expert_ulps ORDER BY run_id, expert",
                0);
  return ulps.each([](RecordedRun& run, RowReader& rows) {
    std::vector<engine::ExpertResult>& experts = run.result.experts;
    const auto expert = rows.integer<std::size_t>("expert", 0, std::ssize(experts) - 1);
    const double ulp = rows.real("x_max_ulp");
    if (rows.ok()) experts[expert].x_max_ulp = ulp;
  });
}

engine::Status write_expert_ulps(const Target& to, std::int64_t run_id, const RecordedRun& run) {
  TableWriter rows(to, "expert_ulps", 3);
  std::int64_t expert = 0;
  for (const engine::ExpertResult& result : run.result.experts) {
    if (!std::isnan(result.x_max_ulp)) rows.row(run_id, expert, result.x_max_ulp);
    ++expert;
  }
  return rows.take();
}

}  // namespace profiling

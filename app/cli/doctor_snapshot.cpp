// `expertscope doctor --snapshot FILE`: the rules without a worker and without a GPU.
#include <fmt/format.h>

#include <algorithm>

#include "app/cli/doctor_options.h"
#include "app/doctor/report_words.h"
#include "app/protocol/request_json.h"
#include "profiling/session/session_file.h"

namespace app::cli {

int examine_file(const DoctorOptions& options) {
  const auto snapshots = profiling::open_snapshot(options.snapshot, request_codec());
  if (!snapshots.ok()) return could_not_run(snapshots.error());
  const bool one_file = !options.report.empty() || !options.record.empty();
  if (one_file && snapshots.value().size() > 1) {
    return could_not_run({engine::ErrorCode::InvalidArgument,
                          fmt::format("{} holds {} snapshots; --report and --record take one",
                                      options.snapshot, snapshots.value().size())});
  }
  const auto facts = shipped_facts();
  if (!facts.ok()) return could_not_run(facts.error());
  int code = kHealthy;
  for (const profiling::OpenedSnapshot& opened : snapshots.value()) {
    profiling::DoctorReport report;
    report.snapshot = opened.snapshot;
    if (report.snapshot.subject.empty()) report.snapshot.subject = opened.title;
    report.findings = profiling::diagnose(report.snapshot, facts.value());
    report.conclusion = conclusion_of(report);
    code = std::max(code, finish_report(options, {}, report));
  }
  return code;
}

}  // namespace app::cli

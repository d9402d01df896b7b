#include "app/doctor/opened_report.h"

#include <algorithm>
#include <utility>

#include "app/doctor/report_words.h"

namespace app {

profiling::DoctorReport report_by_rules(profiling::Snapshot snapshot,
                                        const std::vector<profiling::LibraryFact>& facts) {
  profiling::DoctorReport report;
  report.snapshot = std::move(snapshot);
  report.findings = profiling::diagnose(report.snapshot, facts);
  report.conclusion = conclusion_of(report);
  return report;
}

profiling::DoctorReport report_of(profiling::OpenedSnapshot opened,
                                  const std::vector<profiling::LibraryFact>& facts) {
  if (opened.report.snapshot.subject.empty()) opened.report.snapshot.subject = opened.title;
  if (!opened.report.experiments.empty()) return std::move(opened.report);
  return report_by_rules(std::move(opened.report.snapshot), facts);
}

bool holds_proof(const profiling::DoctorReport& report) {
  return std::ranges::any_of(report.findings, [](const profiling::Finding& finding) {
    return finding.confidence == profiling::Confidence::Proved;
  });
}

std::size_t most_certain(const std::vector<profiling::OpenedSnapshot>& opened) {
  const auto proved = std::ranges::find_if(
      opened, [](const profiling::OpenedSnapshot& one) { return holds_proof(one.report); });
  return proved == opened.end() ? 0 : static_cast<std::size_t>(proved - opened.begin());
}

}  // namespace app

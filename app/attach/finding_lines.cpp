#include "app/attach/finding_lines.h"

#include <fmt/format.h>

#include "app/doctor/report_words.h"
#include "profiling/hazards/model/names.h"

namespace app {

std::vector<std::string> FindingLines::take(const profiling::DoctorReport& report) {
  std::vector<std::string> lines;
  for (const profiling::ExperimentRecord& record : report.experiments) {
    for (const profiling::Stall& stall : record.outcome.stall) {
      if (!said_.insert(report.snapshot.subject + "\nhang").second) continue;
      lines.push_back(fmt::format("{}: no progress for {:.0f} s. {} {}", report.snapshot.subject,
                                  stall.waited_seconds, hang_sentence(report.snapshot, stall),
                                  stall.evidence));
    }
  }
  for (const profiling::Finding& finding : report.findings) {
    // Titles count the nodes and name the memory, so that each is said once.
    if (!said_.insert(report.snapshot.subject + '\n' + finding.rule + '\n' + finding.title).second)
      continue;
    lines.push_back(fmt::format("{}: {} ({})", report.snapshot.subject, finding.title,
                                profiling::name_of(finding.confidence)));
  }
  return lines;
}

std::vector<std::string> FindingLines::take(const std::vector<std::string>& sentences) {
  std::vector<std::string> lines;
  for (const std::string& sentence : sentences) {
    if (said_.insert(sentence).second) lines.push_back(sentence);
  }
  return lines;
}

}  // namespace app

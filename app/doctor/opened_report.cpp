#include "app/doctor/opened_report.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "app/doctor/report_words.h"
#include "engine/gemm/same_step.h"
#include "profiling/hazards/model/gallery_catalogue.h"
#include "profiling/hazards/model/names.h"

namespace app {

profiling::DoctorReport report_by_rules(profiling::Snapshot snapshot,
                                        const std::vector<profiling::LibraryFact>& facts) {
  profiling::DoctorReport report;
  report.snapshot = std::move(snapshot);
  report.findings = profiling::diagnose(report.snapshot, facts);
  report.conclusion = conclusion_of(report);
  report.known = profiling::known_of_libraries(report.snapshot, facts);
  return report;
}

profiling::DoctorReport report_of(profiling::OpenedSnapshot opened,
                                  const std::vector<profiling::LibraryFact>& facts) {
  if (opened.report.snapshot.subject.empty()) opened.report.snapshot.subject = opened.title;
  if (!opened.report.experiments.empty()) return std::move(opened.report);
  return report_by_rules(std::move(opened.report.snapshot), facts);
}

bool examines_attached(const profiling::Snapshot& snapshot) {
  constexpr std::string_view kProcess = " (process ";
  const std::string_view subject = snapshot.subject;
  const std::size_t at = subject.rfind(kProcess);
  if (at == std::string_view::npos || !subject.ends_with(')')) return false;
  const std::string_view number = subject.substr(at + kProcess.size());
  const std::size_t digits = number.find_first_not_of("0123456789");
  return digits > 0 &&
         (number.substr(digits) == ")" || number.substr(digits).starts_with(", rank "));
}

bool holds_proof(const profiling::DoctorReport& report) {
  return std::ranges::any_of(report.findings, [](const profiling::Finding& finding) {
    return finding.confidence == profiling::Confidence::Proved;
  });
}

namespace {

template <class List>
std::size_t first_proved(const List& list, const auto& report_of_one) {
  const auto proved =
      std::ranges::find_if(list, [&](const auto& one) { return holds_proof(report_of_one(one)); });
  return proved == list.end() ? 0 : static_cast<std::size_t>(proved - list.begin());
}

}  // namespace

std::size_t most_certain(const std::vector<profiling::OpenedSnapshot>& opened) {
  return first_proved(opened,
                      [](const auto& one) -> const profiling::DoctorReport& { return one.report; });
}

std::size_t most_certain(
    const std::vector<std::shared_ptr<const profiling::RecordedVisit>>& visits) {
  return first_proved(
      visits, [](const auto& one) -> const profiling::DoctorReport& { return one->report; });
}

const engine::RunRequest* examined_request(const profiling::RecordedVisit& visit) {
  std::string subject = visit.report.snapshot.subject;
  if (visit.request == engine::RunRequest() || profiling::gallery_subject(subject)) return nullptr;
  // Early visits to the gallery named the step and kept the defaults of their day.
  const std::string title = profiling::step_title(visit.request);
  // Rows were called tokens.
  constexpr std::string_view kFormer = " tokens,";
  if (const std::size_t at = subject.find(kFormer); at != std::string::npos) {
    subject.replace(at, kFormer.size(), " rows,");
  }
  const bool step = subject.starts_with(title.substr(0, title.find(',')));
  return step && subject != title ? nullptr : &visit.request;
}

bool examines_step_of(const profiling::RecordedVisit& visit, const engine::RunRequest& run) {
  const engine::RunRequest* const examined = examined_request(visit);
  if (examined == nullptr) return false;
  // How a run was measured, and how often it was launched, is not in its graph.
  engine::RunRequest same = *examined;
  same.measure = run.measure;
  same.launch = run.launch;
  return engine::same_step(same, run);
}

engine::DeviceFacts examined_device(const profiling::RecordedVisit& visit) {
  const profiling::Snapshot& snapshot = visit.report.snapshot;
  engine::DeviceFacts device;
  device.name = snapshot.device;
  device.driver = snapshot.driver;
  device.compute_capability = snapshot.compute_capability;
  device.cublaslt_version = snapshot.cublaslt_version;
  return device;
}

}  // namespace app

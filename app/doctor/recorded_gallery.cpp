#include "app/doctor/recorded_gallery.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace app {

engine::Result<RecordedGallery> open_gallery(const std::string& path) {
  engine::Result<profiling::Session> opened = profiling::open_session(path);
  if (!opened.ok() && opened.error().code == engine::ErrorCode::NotFound) {
    return engine::Error{
        engine::ErrorCode::NotFound,
        fmt::format("there are no recorded visits to the gallery at {}; on a machine with a GPU "
                    "'expertscope doctor gallery --record FILE' makes them",
                    path)};
  }
  if (!opened.ok()) return opened.error();
  RecordedGallery gallery{.path = path, .visits = {}};
  for (profiling::RecordedVisit& visit : opened.value().visits) {
    const auto subject = profiling::gallery_subject(visit.report.snapshot.subject);
    if (!subject || subject->healthy) continue;
    gallery.visits.insert_or_assign(
        subject->id, std::make_shared<const profiling::RecordedVisit>(std::move(visit)));
  }
  return gallery;
}

std::vector<std::string> missing_cases(const RecordedGallery& gallery) {
  std::vector<std::string> missing;
  for (const profiling::HazardCase& one : profiling::hazard_cases()) {
    if (!gallery.visits.contains(one.id)) missing.push_back(one.id);
  }
  return missing;
}

bool proves_case(const profiling::DoctorReport& report, const profiling::HazardCase& one) {
  return std::ranges::any_of(report.findings, [&one](const profiling::Finding& finding) {
    return finding.rule == one.rule && finding.confidence == profiling::Confidence::Proved;
  });
}

}  // namespace app

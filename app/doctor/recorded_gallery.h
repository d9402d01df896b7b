// Recorded visits to the faulty programs of the hazard gallery: what a device has shown can be read
// without one. Blocks while it reads, so the window calls it on a separate thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/model/error.h"
#include "profiling/hazards/model/gallery_catalogue.h"
#include "profiling/session/session_file.h"

namespace app {

struct RecordedGallery {
  std::string path;
  std::map<std::string, std::shared_ptr<const profiling::RecordedVisit>> visits;  // by case
};

/// Visits to anything else in the file are left out. NotFound says how to record one.
engine::Result<RecordedGallery> open_gallery(const std::string& path);

/// Cases without a visit, in the catalogue's order.
std::vector<std::string> missing_cases(const RecordedGallery& gallery);

/// Whether the experiments have proved what the case is about.
bool proves_case(const profiling::DoctorReport& report, const profiling::HazardCase& one);

}  // namespace app

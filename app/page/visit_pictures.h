// The pictures of a visit to the graph doctor: replays before and after the cure, the graph, and
// which node holds which memory.
#pragma once

#include "app/page/html_page.h"
#include "profiling/hazards/model/doctor_report.h"

namespace app {

/// About the first finding, which is the most certain; about the first graph where there is none.
void write_visit_pictures(const profiling::DoctorReport& report, HtmlPage& page);

}  // namespace app

// A doctor's report for people at a terminal: findings, the experiments before and after, the
// smallest cure and the fix.
#pragma once

#include <string>

#include "profiling/hazards/model/doctor_report.h"

namespace app::cli {

std::string report_text(const profiling::DoctorReport& report);

}  // namespace app::cli

// An ordinary run that stalled, as a visit to the doctor: its graph, what the rules say of it, and
// the run as the one experiment that was made.
#pragma once

#include <vector>

#include "app/protocol/doctor_order.h"
#include "profiling/hazards/model/doctor_report.h"
#include "profiling/hazards/rules/diagnosis.h"

namespace app {

profiling::DoctorReport report_of_stall(const engine::RunRequest& request, const DoctorDone& seen,
                                        const std::vector<profiling::LibraryFact>& facts);

}  // namespace app

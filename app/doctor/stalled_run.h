// An ordinary run that stalled, presented as a visit to the doctor: its graph, the rules' findings,
// and the run as the only experiment.
#pragma once

#include <vector>

#include "app/protocol/orders.h"
#include "profiling/hazards/model/doctor_report.h"
#include "profiling/hazards/rules/diagnosis.h"

namespace app {

profiling::DoctorReport report_of_stall(const engine::RunRequest& request, const DoctorDone& seen,
                                        const std::vector<profiling::LibraryFact>& facts);

}  // namespace app

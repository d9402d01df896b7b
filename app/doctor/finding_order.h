// The order in which a report shows its findings.
#pragma once

#include "profiling/hazards/model/doctor_report.h"

namespace app {

/// Most certain first; ties in the order of the rules. Records follow their findings.
void order_by_certainty(profiling::DoctorReport& report);

}  // namespace app

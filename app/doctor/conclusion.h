// The one sentence that a report ends with.
#pragma once

#include <string>

#include "profiling/graph/doctor_report.h"

namespace app {

/// From what is in the report: without experiments, what the rules say; with them, what they have
/// shown. A smallest cure without a proved finding is one that no rule explains.
std::string conclusion_of(const profiling::DoctorReport& report);

/// "replays are wrong from replay 2 on", "replay 2 hangs", "CUDA refuses it: ...", ...
std::string symptom_of(const profiling::Experiment& experiment, const profiling::Outcome& outcome);

/// Neither right nor not run.
bool failed(const profiling::Outcome& outcome);

}  // namespace app

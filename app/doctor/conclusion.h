// The one sentence that a report ends with.
#pragma once

#include <string>

#include "profiling/hazards/model/doctor_report.h"

namespace app {

/// From what is in the report: without experiments, what the rules say; with them, what they have
/// shown. A smallest cure without a proved finding is one that no rule explains.
std::string conclusion_of(const profiling::DoctorReport& report);

/// "Markers cost 15.0 % of a replay: 53.7 us with them, 46.7 us without (medians of 16 each, in
/// turns)."; empty where no experiment has measured it.
std::string marker_cost_text(const profiling::DoctorReport& report);

/// "replays are wrong from replay 2 on", "replay 2 hangs", "CUDA refuses it: ...", ...
std::string symptom_of(const profiling::Experiment& experiment, const profiling::Outcome& outcome);

/// What a script wants to know. Hang: of eager launches or of replays that nothing was changed for.
/// Findings: likely or proved ones, or outputs that are wrong whatever the rules say. NotRun: eager
/// launches fail, or nothing could be replayed although proofs were asked for.
enum class Health { Healthy, Findings, Hang, NotRun };
Health health_of(const profiling::DoctorReport& report);

/// Neither right nor not run.
bool failed(const profiling::Outcome& outcome);

}  // namespace app

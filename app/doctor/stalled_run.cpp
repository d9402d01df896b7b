#include "app/doctor/stalled_run.h"

#include <fmt/format.h>

#include "app/doctor/conclusion.h"

namespace app {

profiling::DoctorReport report_of_stall(const engine::RunRequest& request, const DoctorDone& seen,
                                        const std::vector<profiling::LibraryFact>& facts) {
  profiling::DoctorReport report;
  report.snapshot = seen.snapshot;
  report.findings = profiling::diagnose(report.snapshot, facts);
  const std::string rules = conclusion_of(report);
  profiling::ExperimentRecord& run = report.experiments.emplace_back();
  run.title = "the run itself";
  const bool eager = !seen.outcome.stall.empty() && seen.outcome.stall.front().replay == 0;
  run.experiment.graph = !eager;
  run.experiment.replays = request.launch.iterations;
  run.experiment.markers = request.launch.markers;
  run.outcome = seen.outcome;
  const std::string symptom = symptom_of(run.experiment, run.outcome);
  report.conclusion = fmt::format("In the run itself {}. {}", symptom, rules);
  return report;
}

}  // namespace app

// What `expertscope doctor` and its subcommands share, and what they show people at a terminal.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "app/cli/command.h"
#include "app/cli/terminal.h"
#include "app/cli/worker_session.h"
#include "app/doctor/visit.h"
#include "app/doctor/worker_runner.h"
#include "profiling/hazards/model/doctor_report.h"

namespace app::cli {

/// Findings, the experiments before and after, the smallest cure and the fix.
std::string report_text(const profiling::DoctorReport& report);
/// One after another; as JSON one document: the report, or a list of several.
void print_reports(const std::vector<profiling::DoctorReport>& reports, bool json);

/// The experiment of a visit; with the marker board while a replay does not move.
class DoctorProgress {
 public:
  void show(const VisitProgress& progress);
  void erase() { line_.erase(); }

 private:
  ProgressLine line_;
  int replay_ = 0;
  std::vector<profiling::NodeState> board_;
  std::chrono::steady_clock::time_point moved_;
  std::chrono::steady_clock::time_point shown_;
};

/// A runner for this worker, with the requested limits.
engine::Result<WorkerRunner::Options> runner_options(const WorkerChoice& worker);

/// Writes the error to stderr; always kCouldNotRun.
int could_not_run(const engine::Error& error);

/// For scripts: DoctorExit.
int exit_code_of(const profiling::DoctorReport& report);

void add_matrix_command(CLI::App& doctor, Action& chosen);
void add_gallery_command(CLI::App& doctor, Action& chosen);

}  // namespace app::cli

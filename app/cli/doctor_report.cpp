// What all ways to a doctor's report share: worker, facts, output and exit code.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>

#include "app/cli/batch_run.h"
#include "app/cli/command.h"
#include "app/cli/doctor_options.h"
#include "app/cli/doctor_text.h"
#include "app/cli/terminal.h"
#include "app/doctor/report_words.h"
#include "app/protocol/request_json.h"
#include "profiling/hazards/report/report.h"
#include "profiling/session/session_file.h"

namespace app::cli {
namespace {

engine::Status write_markdown(const std::string& path, const profiling::DoctorReport& report) {
  std::ofstream file(path, std::ios::trunc);
  file << profiling::to_markdown(report);
  if (file.flush()) return {};
  return engine::Error{engine::ErrorCode::Io, fmt::format("{} cannot be written", path)};
}

engine::Status record(const std::string& path, const engine::RunRequest& request,
                      const profiling::DoctorReport& report) {
  const auto writer = create_recording(path);
  if (!writer.ok()) return writer.error();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  engine::Status kept = keep(
      writer.value().get(),
      profiling::RecordedVisit{
          .request = request,
          .report = report,
          .wall_clock_ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count()});
  return kept.ok() ? close_recording(writer.value().get()) : kept;
}

int exit_code_of(const profiling::DoctorReport& report) {
  switch (health_of(report)) {
    case Health::Healthy:
      return kHealthy;
    case Health::Findings:
      return kFindings;
    case Health::Hang:
      return kHang;
    case Health::NotRun:
      break;
  }
  return kCouldNotRun;
}

}  // namespace

WorkerRunner::Options runner_options(const WorkerChoice& worker) {
  WorkerRunner::Options options{.worker = worker.command,
                                .allowed_libraries = worker.allowed_libraries};
  if (worker.timeout_seconds) {
    const double limit = *worker.timeout_seconds;
    options.start_seconds = options.setup_seconds =
        limit > 0 ? limit : std::numeric_limits<double>::infinity();
  }
  options.report_wait = report_wait;
  return options;
}

int could_not_run(const engine::Error& error) {
  report(error);
  return kCouldNotRun;
}

int finish_report(const DoctorOptions& options, const engine::RunRequest& request,
                  const profiling::DoctorReport& made) {
  print("{}\n", options.json ? profiling::to_json(made) : report_text(made));
  std::fflush(stdout);
  if (!options.report.empty()) {
    if (engine::Status kept = write_markdown(options.report, made); !kept.ok()) {
      return could_not_run(kept.error());
    }
  }
  if (!options.record.empty()) {
    if (engine::Status kept = record(options.record, request, made); !kept.ok()) {
      return could_not_run(kept.error());
    }
  }
  return exit_code_of(made);
}

}  // namespace app::cli

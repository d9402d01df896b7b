// What `expertscope doctor` was asked to do, and the parts of its run.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "app/cli/command.h"
#include "app/cli/request_options.h"
#include "app/cli/worker_session.h"
#include "app/doctor/library_versions.h"
#include "app/doctor/visit.h"
#include "app/doctor/worker_runner.h"

namespace app::cli {

struct DoctorOptions {
  RequestOptions request;
  WorkerChoice worker;
  VisitOptions visit;
  std::string gallery_case;
  std::string core_dump_folder;
  bool healthy = false;
  std::string snapshot;
  bool list = false;
  bool json = false;
  std::string report;
  std::string record;
};

/// A runner for this worker, with the requested limits.
WorkerRunner::Options runner_options(const WorkerChoice& worker);

/// Writes the error to stderr; always kCouldNotRun.
int could_not_run(const engine::Error& error);

/// Prints the report, writes the requested files, and returns the exit code.
int finish_report(const DoctorOptions& options, const engine::RunRequest& request,
                  const profiling::DoctorReport& report);

/// Applies the rules to every snapshot of a file, without a worker.
int examine_file(const DoctorOptions& options);

void add_matrix_command(CLI::App& doctor, Action& chosen);
void add_fetch_command(CLI::App& doctor, Action& chosen);

}  // namespace app::cli

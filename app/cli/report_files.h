// The files that a command with the doctor's reports can write: --report and --record.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "engine/model/error.h"
#include "engine/model/run_request.h"
#include "profiling/hazards/model/doctor_report.h"

namespace app::cli {

/// Files that are to be written; empty = none. One that cannot be, or a recording that exists, must
/// be reported before a visit, not after it.
engine::Status check_files(const std::string& recording, const std::string& report);

struct ReportFiles {
  std::string report;  // Markdown; empty = none
  std::string record;  // a recording

  void add_to(CLI::App& command);
  engine::Status check() const { return check_files(record, report); }
  engine::Status write(const engine::RunRequest& request,
                       const std::vector<profiling::DoctorReport>& reports) const;
};

}  // namespace app::cli

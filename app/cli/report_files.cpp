#include "app/cli/report_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "app/cli/batch_run.h"
#include "app/doctor/report_document.h"
#include "engine/input/free_output.h"
#include "engine/input/regular_file.h"
#include "profiling/session/session_file.h"

namespace app::cli {

engine::Status check_files(const std::string& recording, const std::string& report) {
  if (const engine::Status regular = engine::check_regular_file(report);
      !report.empty() && !regular.ok() && regular.error().code == engine::ErrorCode::Io) {
    return engine::Error{regular.error().code, regular.error().message + "; choose another file"};
  }
  for (const std::string& path : {recording, report}) {
    if (path.empty()) continue;
    ENGINE_TRY(engine::require_new_file(path));
    std::string folder = std::filesystem::path(path).parent_path().string();
    if (folder.empty()) folder = ".";
    if (::access(folder.c_str(), W_OK) != 0) {
      return engine::Error{engine::ErrorCode::Io, fmt::format("{} cannot be written", path)};
    }
  }
  return {};
}

namespace {

engine::Status write_markdown(const std::string& path,
                              const std::vector<profiling::DoctorReport>& reports) {
  std::ofstream file(path, std::ios::trunc);
  for (const profiling::DoctorReport& report : reports) file << report_markdown(report);
  if (file.flush()) return {};
  return engine::Error{engine::ErrorCode::Io, fmt::format("{} cannot be written", path)};
}

engine::Status record_visits(const std::string& path, const engine::RunRequest& request,
                             const std::vector<profiling::DoctorReport>& reports) {
  const auto writer = create_recording(path);
  if (!writer.ok()) return writer.error();
  for (const profiling::DoctorReport& report : reports) {
    ENGINE_TRY(keep(
        writer.value().get(),
        profiling::RecordedVisit{
            .request = request, .report = report, .wall_clock_ms = profiling::unix_time_ms()}));
  }
  return close_recording(writer.value().get());
}

}  // namespace

void ReportFiles::add_to(CLI::App& command) {
  command
      .add_option("--report", report,
                  "Also write the report as Markdown to this file, which must not exist yet")
      ->option_text("FILE");
  command.add_option("--record", record, "Record the visit to this file, which must not exist yet")
      ->option_text("FILE");
}

engine::Status ReportFiles::write(const engine::RunRequest& request,
                                  const std::vector<profiling::DoctorReport>& reports) const {
  if (!report.empty()) ENGINE_TRY(write_markdown(report, reports));
  return record.empty() ? engine::Status() : record_visits(record, request, reports);
}

}  // namespace app::cli

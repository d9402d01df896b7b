#include <fmt/format.h>

#include <memory>

#include "app/cli/command.h"
#include "app/protocol/request_json.h"
#include "profiling/export/chrome_trace.h"
#include "profiling/session/session_file.h"

namespace app::cli {
namespace {

struct ExportOptions {
  std::string session;
  std::string chrome;
  std::string csv;
};

int export_session(const ExportOptions& options) {
  const engine::Result<profiling::Session> session =
      profiling::open_session(options.session, request_codec());
  if (!session.ok()) return report(session.error());
  if (!options.chrome.empty()) {
    const engine::Status written = profiling::export_chrome_trace(session.value(), options.chrome);
    if (!written.ok()) return report(written.error());
    fmt::print("{}\n", options.chrome);
  }
  if (!options.csv.empty()) {
    const engine::Status written = profiling::export_csv(session.value(), options.csv);
    if (!written.ok()) return report(written.error());
    fmt::print("{}\n", options.csv);
  }
  return kExitOk;
}

}  // namespace

void add_export_command(CLI::App& program, Action& chosen) {
  CLI::App& command =
      *program.add_subcommand("export", "Write a recording as a Chrome trace or as CSV tables");
  const auto options = std::make_shared<ExportOptions>();
  command.add_option("session", options->session, "Recording")
      ->required()
      ->check(CLI::ExistingFile);
  CLI::Option_group* targets = command.add_option_group("Targets");
  targets->add_option("--chrome", options->chrome, "Trace for Perfetto or chrome://tracing")
      ->option_text("OUT.json");
  targets
      ->add_option("--csv", options->csv,
                   "Folder for runs.csv, records.csv, experts.csv and, if there are any, "
                   "comparisons.csv, findings.csv, snapshot_nodes.csv")
      ->option_text("DIR");
  targets->require_option(1, 2);
  command.callback([options, &chosen] { chosen = [options] { return export_session(*options); }; });
}

}  // namespace app::cli

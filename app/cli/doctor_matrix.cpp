// `expertscope doctor matrix`: which cuBLASLt libraries replay which steps correctly on this
// machine. Every cell gets its own worker; each result is in the file as soon as it exists.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include "app/cli/arguments.h"
#include "app/cli/command.h"
#include "app/cli/doctor.h"
#include "app/cli/request_options.h"
#include "app/cli/terminal.h"
#include "app/doctor/matrix.h"
#include "app/doctor/report_words.h"
#include "engine/input/regular_file.h"
#include "engine/model/backend_traits.h"
#include "profiling/document/setting_names.h"

namespace app::cli {
namespace {

struct MatrixOptions {
  WorkerChoice worker;
  MatrixAxes axes;
  std::vector<std::string> geometries;
  profiling::Experiment experiment;
  std::string output;
  std::string resume;
  bool json = false;
};

/// The worker of one cell, with the cell's library.
engine::Result<WorkerRunner::Options> runner_of(const MatrixOptions& options,
                                                const MatrixCell& cell) {
  WorkerChoice worker = options.worker;
  worker.command.cublaslt = cell.library;
  return runner_options(worker);
}

/// Cancelled is the only error: any other failure is part of the row.
engine::Result<MatrixRow> make_row(const MatrixOptions& options, const MatrixCell& cell,
                                   const InterruptWatch& interrupt) {
  MatrixRow row;
  row.cell = cell;
  row.replays = options.experiment.replays;
  row.date = date_text();
  ENGINE_ASSIGN(WorkerRunner::Options worker, runner_of(options, cell));
  const engine::Result<ExperimentRunner::Reply> reply =
      WorkerRunner(std::move(worker))
          .run({.request = request_of(cell), .gallery_case = {}, .healthy = false},
               options.experiment, {}, interrupt.flag());
  if (!reply.ok()) {
    if (reply.error().code == engine::ErrorCode::Cancelled) return reply.error();
    const bool refused = reply.error().code == engine::ErrorCode::Unsupported;
    row.verdict = refused ? profiling::Verdict::Refused : profiling::Verdict::NotRun;
    row.message = reply.error().message;
    return row;
  }
  const profiling::Outcome& outcome = reply.value().outcome;
  row.version = reply.value().snapshot.cublaslt_version;
  row.device = reply.value().snapshot.device;
  row.driver = reply.value().snapshot.driver;
  row.verdict = outcome.verdict;
  row.replay =
      outcome.stall.empty() ? profiling::first_wrong_replay(outcome) : outcome.stall.front().replay;
  row.seconds = outcome.seconds;
  row.message = outcome.message;
  return row;
}

/// Existing rows, and the file that new ones are appended to.
constexpr std::size_t kMaxMatrixBytes = std::size_t{64} << 20;

struct RowFile {
  std::vector<MatrixRow> rows;
  std::ofstream file;  // not open = none was requested
};

engine::Result<RowFile> open_rows(const MatrixOptions& options) {
  RowFile kept;
  for (const std::string& path : {options.output, options.resume}) {
    if (path.empty()) continue;
    const engine::Status regular = engine::check_regular_file(path);  // no FIFO is waited for
    if (!regular.ok() && regular.error().code != engine::ErrorCode::NotFound) {
      return engine::Error{regular.error().code, regular.error().message + "; choose another file"};
    }
  }
  if (!options.output.empty()) kept.file.open(options.output, std::ios::trunc);
  if (!options.resume.empty()) {
    engine::Result<std::string> before = engine::read_file(options.resume, kMaxMatrixBytes);
    if (!before.ok() && before.error().code != engine::ErrorCode::NotFound) return before.error();
    const std::string text = before.ok() ? std::move(before).value() : std::string();
    engine::Result<std::vector<MatrixRow>> rows = read_rows(text);
    if (!rows.ok()) {
      return engine::Error{rows.error().code, options.resume + ", " + rows.error().message};
    }
    kept.rows = std::move(rows).value();
    // Half a line, left by a sweep that was stopped while writing, must not spoil the next row.
    if (const std::size_t whole = text.rfind('\n') + 1; whole < text.size()) {
      std::error_code error;
      std::filesystem::resize_file(options.resume, whole, error);
    }
    kept.file.open(options.resume, std::ios::app);
  }
  const std::string& path = options.output.empty() ? options.resume : options.output;
  if (!path.empty() && !kept.file) {
    return engine::Error{engine::ErrorCode::Io,
                         fmt::format("{} cannot be written; choose another file", path)};
  }
  return kept;
}

/// The requested ones, or all that the worker finds. Starts a worker either way, so that one that
/// cannot be started, or has no device, is reported once and not in every row.
engine::Result<std::vector<std::string>> libraries_of(const MatrixOptions& options) {
  const auto session = WorkerSession::start(options.worker);
  if (!session.ok()) return session.error();
  std::string why = "it offers none";
  bool device = false;
  for (const BackendOffer& offer : session.value()->hello().backends) {
    if (!engine::traits_of(offer.kind).device) continue;
    device = device || offer.available;
    if (!offer.reason.empty()) why = offer.reason;
  }
  if (!device) {
    return engine::Error{engine::ErrorCode::Unsupported,
                         "the matrix needs a worker with a CUDA device: " + why};
  }
  if (!options.axes.libraries.empty()) return options.axes.libraries;
  if (!session.value()->hello().cublaslt_libraries.empty()) {
    return session.value()->hello().cublaslt_libraries;
  }
  return engine::Error{engine::ErrorCode::NotFound,
                       "the worker finds no cuBLASLt library; name some with --cublaslt"};
}

int exit_code_of(const std::vector<MatrixRow>& rows, const std::vector<MatrixCell>& cells) {
  if (!missing_cells(cells, rows).empty()) return kCouldNotRun;
  int code = kHealthy;
  for (const MatrixRow& row : rows) {
    if (std::ranges::find(cells, row.cell) == cells.end()) continue;  // from an earlier sweep
    if (row.verdict == profiling::Verdict::Hung) return kHang;
    const bool bad =
        row.verdict == profiling::Verdict::Wrong || row.verdict == profiling::Verdict::Crashed;
    if (bad) code = kFindings;
  }
  return code;
}

std::string line_of(const MatrixRow& row) {
  return fmt::format("{} {} {} {} {}: {}{}", row.version.empty() ? row.cell.library : row.version,
                     engine::name_of(row.cell.recipe), engine::name_of(row.cell.sequence),
                     geometry_name(row.cell.geometry), engine::name_of(row.cell.workspace),
                     short_verdict(row), row.message.empty() ? "" : " (" + row.message + ")");
}

int sweep(MatrixOptions options) {
  options.axes.geometries =
      options.geometries.empty() ? options.axes.geometries : std::vector<MatrixGeometry>{};
  for (const std::string& text : options.geometries) {
    const engine::Result<MatrixGeometry> geometry = parse_geometry(text);
    if (!geometry.ok()) return could_not_run(geometry.error());
    options.axes.geometries.push_back(geometry.value());
  }
  engine::Result<std::vector<std::string>> libraries = libraries_of(options);
  if (!libraries.ok()) return could_not_run(libraries.error());
  // Once there will be rows: a matrix that cannot be made leaves and empties no file.
  engine::Result<RowFile> kept = open_rows(options);
  if (!kept.ok()) return could_not_run(kept.error());
  options.axes.libraries = std::move(libraries).value();
  const std::vector<MatrixCell> cells = cells_of(options.axes);
  std::vector<MatrixRow>& rows = kept.value().rows;
  const std::vector<MatrixCell> missing = missing_cells(cells, rows);
  const bool interactive = ::isatty(STDERR_FILENO) != 0;
  ProgressLine log;
  const InterruptWatch interrupt;
  bool cancelled = false;
  for (std::size_t i = 0; i < missing.size() && !cancelled; ++i) {
    const engine::Result<MatrixRow> row = make_row(options, missing[i], interrupt);
    if (!row.ok()) {
      cancelled = row.error().code == engine::ErrorCode::Cancelled;
      report(row.error());
      if (!cancelled) return kCouldNotRun;
      break;
    }
    rows.push_back(row.value());
    if (kept.value().file.is_open()) {
      kept.value().file << to_json_line(row.value()) << '\n' << std::flush;
    }
    if (options.json) print("{}\n", to_json_line(row.value()));
    const std::string line =
        fmt::format("{} of {}  {}", i + 1, missing.size(), line_of(row.value()));
    interactive ? print(stderr, "{}\n", line) : log.show("", line);
    std::fflush(stdout);
  }
  if (kept.value().file.is_open() && !kept.value().file.flush()) {
    return could_not_run({engine::ErrorCode::Io,
                          "the file of rows is incomplete: no space or a "
                          "disk error"});
  }
  if (!options.json) print("{}", matrix_table(rows));
  return exit_code_of(rows, cells);
}

std::map<std::string, engine::WorkspaceStrategy> workspace_names() {
  std::map<std::string, engine::WorkspaceStrategy> names;
  for (const engine::WorkspaceStrategy workspace : MatrixAxes{}.workspaces) {
    names.emplace(engine::name_of(workspace), workspace);
  }
  return names;
}

/// A comma-separated list of names that replaces the default list.
template <class Value>
void add_axis(CLI::App& command, const char* name, std::vector<Value>& values,
              const std::map<std::string, Value>& names, const char* description) {
  std::vector<std::string> words;
  for (const auto& [word, value] : names) words.push_back(word);
  command
      .add_option_function<std::vector<std::string>>(
          name,
          [&values, names](const std::vector<std::string>& chosen) {
            values.clear();
            for (const std::string& word : chosen) values.push_back(names.at(word));
          },
          fmt::format("{}: {}", description, fmt::join(words, ",")))
      ->option_text("NAMES")
      ->delimiter(',')
      ->transform(one_of(words));
}

}  // namespace

void add_matrix_command(CLI::App& doctor, Action& chosen) {
  CLI::App& command = *doctor.add_subcommand(
      "matrix",
      "Replay steps on every cuBLASLt library, strategy, recipe and shape; print the table.\n"
      "Exit code 0: all right, 1: some wrong, 2: some hang, 3: not all could be run");
  const auto options = std::make_shared<MatrixOptions>();
  // Only the graph that a program would replay: without markers.
  options->experiment.markers = false;
  options->worker.add_to(command, /*with_library=*/false);
  command
      .add_option("--cublaslt", options->axes.libraries,
                  "A library; can be given several times (default: all that the worker finds)")
      ->option_text("PATH")
      ->allow_extra_args(false);
  add_axis(command, "--strategies", options->axes.workspaces, workspace_names(),
           "Workspace strategies (default: all)");
  add_axis(command, "--sequences", options->axes.sequences, names_of<ProductSequence>(),
           "Products of a step: forward (two layers), backward, both (default: all)");
  add_axis(command, "--recipes", options->axes.recipes, names_of<engine::Scaling>(),
           "Recipes (default: bf16, fp8-per-tensor, fp8-block)");
  command
      .add_option("--geometries", options->geometries,
                  "EXPERTSxTOKENSxNxK, separated by commas (default: three, from 4x512x256x256)")
      ->option_text("SHAPES")
      ->delimiter(',');
  command.add_option("--replays", options->experiment.replays, "Replays of each cell")
      ->check(between(2, profiling::kMaxExperimentReplays))
      ->capture_default_str();
  command
      .add_option("--deadline", options->experiment.deadline_seconds,
                  "Seconds that one replay may take (default: from the times of eager launches)")
      ->option_text("SECONDS")
      ->check(at_least(0));
  CLI::Option* output =
      command.add_option("--output", options->output, "Write one line of JSON per cell")
          ->option_text("FILE");
  command
      .add_option("--resume", options->resume,
                  "Skip the cells already in this file and append the others")
      ->option_text("FILE")
      ->excludes(output);
  command.add_flag("--json", options->json, "Print the lines of JSON instead of the table");
  command.callback([options, &chosen] { chosen = [options] { return sweep(*options); }; });
}

}  // namespace app::cli

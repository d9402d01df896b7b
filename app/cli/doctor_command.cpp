// `expertscope doctor`: is a captured graph faulty, why, and what fixes it; and `doctor fetch`,
// another cuBLASLt to compare with.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string_view>

#include "app/cli/arguments.h"
#include "app/cli/batch_run.h"
#include "app/cli/command.h"
#include "app/cli/doctor.h"
#include "app/cli/file_readers.h"
#include "app/cli/report_files.h"
#include "app/cli/request_options.h"
#include "app/cli/terminal.h"
#include "app/controllers/request_actions.h"
#include "app/doctor/library_versions.h"
#include "app/doctor/opened_report.h"
#include "app/doctor/report_document.h"
#include "app/doctor/report_words.h"
#include "app/doctor/visit.h"
#include "engine/gemm/library_file.h"
#include "engine/input/free_output.h"
#include "engine/input/regular_file.h"
#include "engine/model/backend_traits.h"
#include "profiling/hazards/model/gallery_catalogue.h"
#include "profiling/hazards/model/names.h"
#include "profiling/hazards/report/report.h"
#include "profiling/session/session_file.h"

namespace app::cli {

engine::Result<WorkerRunner::Options> runner_options(const WorkerChoice& worker) {
  ENGINE_ASSIGN(WorkerCommand command, worker.reached());
  WorkerRunner::Options options{.worker = std::move(command),
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

namespace {

constexpr std::string_view kSnapshot = "snapshot";

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
  ReportFiles files;
};

// ---- The report --------------------------------------------------------------------------------

/// "14 subjects: 1 examined by experiments, 11 read by the rules alone: no likely finding; 2 with
/// findings", and which these are. Only experiments can say that replays are right.
std::string summary_of(const std::vector<profiling::DoctorReport>& reports) {
  const auto count = [&](Health health) { return std::ranges::count(reports, health, health_of); };
  std::string which;
  const auto read = std::ranges::count_if(reports, [](const profiling::DoctorReport& one) {
    return health_of(one) == Health::Healthy && one.experiments.empty();
  });
  const auto examined = count(Health::Healthy) - read;
  std::vector<std::string> parts;
  if (examined > 0) parts.push_back(fmt::format("{} examined by experiments", examined));
  if (read > 0) parts.push_back(fmt::format("{} read by the rules alone", read));
  std::string text = fmt::format("{} subjects: {}{}", reports.size(), fmt::join(parts, ", "),
                                 parts.empty() ? "" : ": no likely finding");
  const char* separator = parts.empty() ? "" : "; ";
  for (const auto& [health, words] :
       {std::pair{Health::Findings, "with findings"}, std::pair{Health::Hang, "that hang"},
        std::pair{Health::NotRun, "that could not be judged"}}) {
    if (count(health) == 0) continue;
    text += fmt::format("{}{} {}", separator, count(health), words);
    separator = ", ";
    for (const profiling::DoctorReport& one : reports) {
      if (health_of(one) == health) which += "\n  " + one.snapshot.subject;
    }
  }
  return text + which;
}

/// Prints the report, writes the requested files, and returns the exit code.
int finish_report(const DoctorOptions& options, const engine::RunRequest& request,
                  const profiling::DoctorReport& made) {
  print("{}\n", options.json ? profiling::to_json(made) : report_text(made));
  std::fflush(stdout);
  if (engine::Status kept = options.files.write(request, {made}); !kept.ok()) {
    return could_not_run(kept.error());
  }
  return exit_code_of(made);
}

// ---- The examination ---------------------------------------------------------------------------

int list_cases() {
  print("{:<28} {:>6}  {:<24} {:<13} {:<22} {}\n", "case", "hazard", "symptom", "plain replays",
        "needs cuBLASLt", "title");
  for (const profiling::HazardCase& one : profiling::hazard_cases()) {
    print("{:<28} {:>6}  {:<24} {:<13} {:<22} {}\n", one.id, one.hazard, symptoms_of(one),
          profiling::name_of(one.plain), one.library, one.title);
  }
  print(
      "\nplain replays: what replays give while nothing else changes. Where they are right, the "
      "fault shows only\nonce an input, a host value, the splits or the timing changes: the "
      "doctor's experiments change these.\n");
  return kHealthy;
}

engine::Result<DoctorSubject> subject_of(const DoctorOptions& options) {
  if (!options.gallery_case.empty() &&
      profiling::find_hazard_case(options.gallery_case) == nullptr) {
    std::vector<std::string> ids;
    for (const profiling::HazardCase& one : profiling::hazard_cases()) ids.push_back(one.id);
    return engine::Error{
        engine::ErrorCode::InvalidArgument,
        fmt::format("there is no case '{}'{}; see expertscope doctor --list", options.gallery_case,
                    engine::suggestion(options.gallery_case, ids))};
  }
  engine::Result<engine::RunRequest> request = options.request.resolve(options.worker.is_here());
  if (!request.ok()) return request.error();
  // The CPU is a request's default backend, and it has no graphs.
  if (!engine::traits_of(request.value().backend).device) {
    request.value().backend = engine::GemmBackend::CublasLtGrouped;
  }
  return DoctorSubject{.request = std::move(request).value(),
                       .gallery_case = options.gallery_case,
                       .healthy = options.healthy};
}

/// Runs all call their step "of this run": of several, each is named by its number and by what
/// tells it from the others; so are visits.
void name_subjects(std::vector<profiling::OpenedSnapshot>& snapshots) {
  if (snapshots.size() < 2) return;
  std::vector<const engine::RunRequest*> requests;
  for (const profiling::OpenedSnapshot& one : snapshots) {
    if (one.run >= 0) requests.push_back(&one.request);
  }
  std::vector<std::string> summaries = summaries_of(requests);
  auto summary = summaries.begin();
  for (profiling::OpenedSnapshot& one : snapshots) {
    one.report.snapshot.subject =
        one.run < 0 ? one.title : fmt::format("run {}: {}", one.run + 1, *summary++);
  }
}

/// Every snapshot of a file, without a worker and without a GPU.
int examine_file(const CLI::App& command, const DoctorOptions& options) {
  auto snapshots = profiling::open_snapshot(options.snapshot);
  if (!snapshots.ok()) {
    // A word without an option is taken for a file: it may be a mistyped "gallery".
    engine::Error why = snapshots.error();
    why.message += way_out(command, options.snapshot, kSnapshot);
    return could_not_run(why);
  }
  warn_if_incomplete(options.snapshot, snapshots.value().front().doubt);
  const bool one_file = !options.files.report.empty() || !options.files.record.empty();
  if (one_file && snapshots.value().size() > 1) {
    return could_not_run({engine::ErrorCode::InvalidArgument,
                          fmt::format("{} holds {} snapshots; --report and --record take one",
                                      options.snapshot, snapshots.value().size())});
  }
  const auto facts = shipped_facts();
  if (!facts.ok()) return could_not_run(facts.error());
  name_subjects(snapshots.value());
  if (snapshots.value().size() == 1) {
    profiling::OpenedSnapshot& opened = snapshots.value().front();
    const engine::RunRequest request = opened.request;
    return finish_report(options, request, report_of(std::move(opened), facts.value()));
  }
  int code = kHealthy;
  std::vector<profiling::DoctorReport> reports;
  for (profiling::OpenedSnapshot& opened : snapshots.value()) {
    reports.push_back(report_of(std::move(opened), facts.value()));
    code = std::max(code, exit_code_of(reports.back()));
  }
  print_reports(reports, options.json);
  // A screenful ends with what all of them amount to.
  if (!options.json) print("{}\n", summary_of(reports));
  return code;
}

int examine(const CLI::App& command, const DoctorOptions& options) {
  if (options.list) return list_cases();
  if (engine::Status files = options.files.check(); !files.ok())
    return could_not_run(files.error());
  if (!options.snapshot.empty()) return examine_file(command, options);
  const engine::Result<DoctorSubject> subject = subject_of(options);
  if (!subject.ok()) return could_not_run(subject.error());
  const auto facts = shipped_facts();
  if (!facts.ok()) return could_not_run(facts.error());
  WorkerChoice choice = options.worker;
  choice.note_library(subject.value().request, options.request.library_file());
  if (engine::Status known = choice.check_libraries_of_files(); !known.ok()) {
    return could_not_run(known.error());
  }
  engine::Result<WorkerRunner::Options> worker = runner_options(choice);
  if (!worker.ok()) return could_not_run(worker.error());
  worker.value().core_dump_folder = options.core_dump_folder;
  Task placed = DoctorOrder{.request = subject.value().request, .gallery_case = {}};
  if (const engine::Status sent = choice.send_files(placed); !sent.ok()) {
    return could_not_run(sent.error());
  }
  DoctorSubject there = subject.value();
  there.request = std::get<DoctorOrder>(placed).request;
  WorkerRunner runner(std::move(worker).value());
  profiling::DoctorReport so_far;
  const engine::Result<profiling::DoctorReport> report = [&] {
    const InterruptWatch interrupt;
    DoctorProgress bar;
    return visit(
        there, options.visit, facts.value(), runner,
        [&](const VisitProgress& progress) {
          bar.show(progress);
          // Once per experiment, not per pulse: a snapshot may be large.
          const bool more = progress.so_far.experiments.size() != so_far.experiments.size() ||
                            progress.so_far.findings.size() != so_far.findings.size();
          if (more) so_far = progress.so_far;
        },
        interrupt.flag());
  }();
  if (report.ok()) return finish_report(options, subject.value().request, report.value());
  if (report.error().code == engine::ErrorCode::Cancelled && !so_far.snapshot.graphs.empty()) {
    so_far.conclusion = "Cancelled before the end. " + conclusion_of(so_far);
    finish_report(options, subject.value().request, so_far);
  }
  engine::Error why = report.error();
  if (why.code == engine::ErrorCode::Unsupported && !options.gallery_case.empty()) {
    why.message +=
        fmt::format("; the recorded visit: expertscope doctor gallery {}", options.gallery_case);
  }
  return could_not_run(why);
}

int list_libraries() {
  for (const engine::PinnedLibrary& one : engine::pinned_libraries()) {
    print("{:<12} {}\n", one.version, one.purpose);
  }
  return 0;
}

int fetch(const std::string& version) {
  const InterruptWatch interrupt;
  const engine::Result<std::string> library = fetch_library(
      version, [](const std::string& line) { print(stderr, "{}\n", line); }, interrupt.flag());
  if (!library.ok()) return could_not_run(library.error());
  print("{}\n", library.value());
  return 0;
}

void add_fetch_command(CLI::App& doctor, Action& chosen) {
  auto version = std::make_shared<std::string>();
  CLI::App& command = *doctor.add_subcommand(
      "fetch", "Fetch a version of cuBLASLt (400 MB from PyPI) and print its path");
  command.add_option("version", *version,
                     "Such as 13.5.1.27; without it, list what can be fetched");
  command.callback([version, &chosen] {
    chosen = [version] { return version->empty() ? list_libraries() : fetch(*version); };
  });
}

}  // namespace

void add_doctor_command(CLI::App& program, Action& chosen) {
  CLI::App& command = *program.add_subcommand(
      "doctor",
      "Find out why a captured graph hangs or corrupts data, prove it, show the fix.\n"
      "Exit code 0: healthy, 1: findings, 2: a hang, 3: could not run");
  const auto options = std::make_shared<DoctorOptions>();
  CLI::Option* hazard =
      command
          .add_option("--case", options->gallery_case,
                      "A case of the hazard gallery instead of a request (see --list)")
          ->option_text("ID");
  command.add_flag("--healthy", options->healthy, "The case's healthy twin")->needs(hazard);
  CLI::Option* snapshot =
      command
          .add_option(fmt::format("file,--{}", kSnapshot), options->snapshot,
                      "Examine the graphs in a recording or in a file of cudaGraphDebugDotPrint: "
                      "what a recorded visit has proved, else what the rules find; needs no GPU")
          ->option_text("FILE")
          ->excludes(hazard);
  command.add_flag("--list", options->list, "List the cases of the gallery");
  command
      .add_flag("--prove", options->visit.prove,
                "Run the experiments that prove or disprove findings, each in a fresh worker")
      ->excludes(snapshot);
  command
      .add_option("--rule", options->visit.rules,
                  "Prove findings of this rule only; can be given several times")
      ->option_text("ID")
      ->allow_extra_args(false);
  // As a callback: CLI11 would print "--no-markers{false}" for a flag that clears.
  command.add_flag_callback(
      "--no-markers", [options] { options->visit.markers = false; },
      "Replay without the marker board, which shows where a replay is and costs a little");
  command
      .add_option("--deadline", options->visit.deadline_seconds,
                  "Seconds that one replay may take (default: from the times of eager launches)")
      ->option_text("SECONDS")
      ->check(at_least(0));
  command
      .add_option("--core-dump", options->core_dump_folder,
                  "Folder for core dumps of a hanging device: where the kernel is, read with "
                  "cuda-gdb if that is installed; workers on this machine only")
      ->option_text("FOLDER")
      ->check(existing_folder());
  command.add_flag("--json", options->json, "Print the report as JSON");
  options->files.add_to(command);
  options->worker.add_to(command);
  options->request.add_to(command);
  add_gallery_command(command, chosen);
  add_matrix_command(command, chosen);
  add_fetch_command(command, chosen);
  command.callback([options, &command, &chosen] {
    // One of its subcommands may have been chosen already.
    if (command.get_subcommands().empty())
      chosen = [options, &command] { return examine(command, *options); };
  });
}

}  // namespace app::cli

// `expertscope doctor gallery`: shows the recorded visits to the hazard gallery, and records them.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "app/cli/arguments.h"
#include "app/cli/batch_run.h"
#include "app/cli/command.h"
#include "app/cli/doctor.h"
#include "app/cli/report_files.h"
#include "app/cli/terminal.h"
#include "app/doctor/library_versions.h"
#include "app/doctor/recorded_gallery.h"
#include "app/doctor/visit.h"
#include "app/protocol/shipped_recordings.h"
#include "profiling/hazards/model/gallery_catalogue.h"
#include "profiling/hazards/model/names.h"
#include "profiling/hazards/report/report.h"
#include "profiling/session/session_file.h"

namespace app::cli {
namespace {

using profiling::HazardCase;
using profiling::RecordedVisit;

struct GalleryOptions {
  std::vector<std::string> cases;  // empty = all
  std::string file;                // empty = the one that ships
  std::string record;
  std::vector<std::string> taken;  // "CASE=FILE"
  bool json = false;
  WorkerChoice worker;
  double deadline_seconds = 0;
};

std::vector<const HazardCase*> chosen_cases(const GalleryOptions& options) {
  std::vector<const HazardCase*> chosen;
  for (const HazardCase& one : profiling::hazard_cases()) {
    const bool wanted =
        options.cases.empty() || std::ranges::find(options.cases, one.id) != options.cases.end();
    if (wanted) chosen.push_back(&one);
  }
  return chosen;
}

std::string outcome_of(const profiling::DoctorReport& report, const HazardCase& one) {
  return proves_case(report, one) ? "proved" : "not proved";
}

// ---- Showing -----------------------------------------------------------------------------------

void list_case(const RecordedGallery& gallery, const profiling::SymptomLead& lead) {
  const HazardCase& one = *lead.hazard;
  const auto found = gallery.visits.find(one.id);
  if (found == gallery.visits.end()) {
    print("  {:<28} {:<16} {:<11} {}\n", one.id, "not recorded", "", title_of(lead));
    return;
  }
  const profiling::DoctorReport& report = found->second->report;
  print("  {:<28} {:<16} {:<11} {}\n", one.id, report.snapshot.device, outcome_of(report, one),
        title_of(lead));
}

/// By symptom, each case below the question that leads to it.
int list_recorded(const RecordedGallery& gallery) {
  print("  {:<28} {:<16} {:<11} {}\n", "case", "recorded on", "outcome", "title");
  for (std::size_t i = 0; i < enum_names(profiling::Symptom{}).size(); ++i) {
    const auto symptom = static_cast<profiling::Symptom>(i);
    print("\n{}: {}\n", name_of(symptom), words_of(symptom));
    for (const profiling::SymptomLead& lead : profiling::leads_of(symptom)) {
      print("- {}\n", *lead.question);
      list_case(gallery, lead);
    }
  }
  return kHealthy;
}

int show_recorded(const GalleryOptions& options) {
  const auto gallery = open_gallery(options.file.empty() ? kGalleryRecording.path() : options.file);
  if (!gallery.ok()) return could_not_run(gallery.error());
  if (options.cases.empty() && !options.json) return list_recorded(gallery.value());
  int code = kHealthy;
  std::vector<profiling::DoctorReport> reports;
  for (const HazardCase* one : chosen_cases(options)) {
    const auto found = gallery.value().visits.find(one->id);
    if (found == gallery.value().visits.end()) {
      code = could_not_run({engine::ErrorCode::NotFound,
                            fmt::format("{} holds no visit to {}", gallery.value().path, one->id)});
      continue;
    }
    reports.push_back(found->second->report);
    code = std::max(code, exit_code_of(reports.back()));
  }
  print_reports(reports, options.json);
  return code;
}

// ---- Recording ---------------------------------------------------------------------------------

/// Visits from other recordings that are used for a case.
engine::Result<std::map<std::string, RecordedVisit>> take_visits(const GalleryOptions& options) {
  std::map<std::string, RecordedVisit> taken;
  for (const std::string& word : options.taken) {
    const std::size_t equals = word.find('=');
    const std::string id = word.substr(0, equals);
    const HazardCase* one = profiling::find_hazard_case(id);
    if (equals == std::string::npos || one == nullptr) {
      return engine::Error{engine::ErrorCode::InvalidArgument,
                           fmt::format("--take {}: write CASE=FILE, with a case that expertscope "
                                       "doctor --list names",
                                       word)};
    }
    const std::string path = word.substr(equals + 1);
    ENGINE_ASSIGN(profiling::Session session, profiling::open_session(path));
    warn_if_incomplete(path, session.doubt);
    const auto found = std::ranges::find_if(session.visits, [one](const RecordedVisit& visit) {
      return proves_case(visit.report, *one);
    });
    if (found == session.visits.end()) {
      return engine::Error{
          engine::ErrorCode::InvalidArgument,
          fmt::format("--take {}: no visit in that file has proved {}", word, one->rule)};
    }
    RecordedVisit& visit = taken[id] = std::move(*found);
    visit.request = {};
    visit.report.snapshot.subject = profiling::subject_title({.id = id});
  }
  return taken;
}

engine::Result<RecordedVisit> visit_case(const HazardCase& one, const GalleryOptions& options,
                                         const std::vector<profiling::LibraryFact>& facts,
                                         DoctorProgress& bar, const std::atomic<bool>& cancel) {
  DoctorSubject subject{.request = {}, .gallery_case = one.id};
  subject.request.backend = engine::GemmBackend::CublasLtGrouped;
  VisitOptions visit_options;
  visit_options.prove = true;
  visit_options.deadline_seconds = options.deadline_seconds;
  ENGINE_ASSIGN(WorkerRunner::Options worker, runner_options(options.worker));
  WorkerRunner runner(std::move(worker));
  ENGINE_ASSIGN(profiling::DoctorReport report,
                visit(
                    subject, visit_options, facts, runner,
                    [&bar](const VisitProgress& progress) { bar.show(progress); }, cancel));
  // Elsewhere the program is healthy: its visit would contradict the case.
  if (!one.library.empty() && !proves_case(report, one)) {
    return engine::Error{
        engine::ErrorCode::Unsupported,
        fmt::format(
            "it needs cuBLASLt {}, and the worker loaded {}; name a library with "
            "--cublaslt, or a recording with --take {}=FILE",
            one.library,
            report.snapshot.cublaslt_version.empty() ? "none" : report.snapshot.cublaslt_version,
            one.id)};
  }
  return RecordedVisit{
      .request = {}, .report = std::move(report), .wall_clock_ms = profiling::unix_time_ms()};
}

int record_gallery(const GalleryOptions& options) {
  auto taken = take_visits(options);
  if (!taken.ok()) return could_not_run(taken.error());
  const auto facts = shipped_facts();
  if (!facts.ok()) return could_not_run(facts.error());
  if (engine::Status files = check_files(options.record, ""); !files.ok()) {
    return could_not_run(files.error());
  }
  const std::vector<const HazardCase*> cases = chosen_cases(options);
  Recording writer;  // made by the first visit: else no file is left
  std::vector<std::string> missing;
  int unproved = 0;
  const InterruptWatch interrupt;
  DoctorProgress bar;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const HazardCase& one = *cases[i];
    const auto known = taken.value().find(one.id);
    const engine::Result<RecordedVisit> made = [&]() -> engine::Result<RecordedVisit> {
      if (known != taken.value().end()) return std::move(known->second);
      auto visit = visit_case(one, options, facts.value(), bar, interrupt.flag());
      bar.erase();
      return visit;
    }();
    if (!made.ok()) {
      missing.push_back(one.id);
      print(stderr, "expertscope: {}: {}\n", one.id, made.error().message);
      if (made.error().code == engine::ErrorCode::Cancelled) {
        for (std::size_t k = i + 1; k < cases.size(); ++k) missing.push_back(cases[k]->id);
        break;
      }
      continue;
    }
    const profiling::DoctorReport& report = made.value().report;
    unproved += proves_case(report, one) ? 0 : 1;
    print("{:>2} of {}  {:<28} {:<11} {}\n", i + 1, cases.size(), one.id, outcome_of(report, one),
          report.conclusion);
    std::fflush(stdout);
    if (writer == nullptr) {
      auto created = create_recording(options.record);
      if (!created.ok()) return could_not_run(created.error());
      writer = std::move(created).value();
    }
    if (engine::Status kept = keep(writer.get(), made.value()); !kept.ok()) {
      return could_not_run(kept.error());
    }
  }
  if (engine::Status closed = close_recording(writer.get()); !closed.ok()) {
    return could_not_run(closed.error());
  }
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(options.record, error);
  print("{} of {} visits in {}, {:.1f} MB\n", cases.size() - missing.size(), cases.size(),
        options.record, error ? 0.0 : static_cast<double>(bytes) / 1e6);
  if (!missing.empty()) {
    return could_not_run({engine::ErrorCode::Unsupported,
                          fmt::format("not recorded: {}", fmt::join(missing, ", "))});
  }
  return unproved == 0 ? kHealthy : kFindings;
}

}  // namespace

void add_gallery_command(CLI::App& doctor, Action& chosen) {
  CLI::App& command = *doctor.add_subcommand(
      "gallery",
      "List the recorded visits to the hazard gallery by symptom, or show those to the named "
      "cases; needs no "
      "GPU. With --record: visit the cases on a GPU, prove them, and record that.\n"
      "Exit code of --record 0: all proved, 1: some not, 3: some not recorded");
  const auto options = std::make_shared<GalleryOptions>();
  std::vector<std::string> ids;
  for (const HazardCase& one : profiling::hazard_cases()) ids.push_back(one.id);
  command.add_option("case", options->cases, "Cases (default: all)")
      ->option_text("CASE ...")
      ->transform(one_of(ids));
  CLI::Option* file = command
                          .add_option("--file", options->file,
                                      "Show the visits in this recording (default: the one that "
                                      "ships with the program)")
                          ->option_text("FILE");
  CLI::Option* json = command.add_flag("--json", options->json, "Print the reports as JSON");
  CLI::Option* record =
      command
          .add_option("--record", options->record,
                      "Visit the cases and record the visits to this file, which must not exist "
                      "yet")
          ->option_text("FILE")
          ->excludes(file)
          ->excludes(json);
  command
      .add_option("--take", options->taken,
                  "Take the visit to this case from a recording instead of making it, as where "
                  "the library that it needs is not installed; can be given several times")
      ->option_text("CASE=FILE")
      ->allow_extra_args(false)
      ->needs(record);
  command
      .add_option("--deadline", options->deadline_seconds,
                  "Seconds that one replay may take (default: from the times of eager launches)")
      ->option_text("SECONDS")
      ->check(at_least(0))
      ->needs(record);
  options->worker.add_to(command);
  command.callback([options, &chosen] {
    chosen = [options] {
      return options->record.empty() ? show_recorded(*options) : record_gallery(*options);
    };
  });
}

}  // namespace app::cli

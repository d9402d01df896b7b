// The graph doctor in the window: its visits, the files it is shown, the reports it hands out.
#include <string>
#include <utility>

#include "app/gui/shell/shell.h"

namespace app {
namespace {

constexpr int kDoctorView = 3;  // of Graphs: replays, topology, memory, doctor

}  // namespace

bool Shell::take_doctor() {
  doctor_.examine(state_.shown());
  const std::string error = doctor_.news().file_error;
  bool changed = doctor_.tick();
  if (const std::string& now = doctor_.news().file_error; !now.empty() && now != error) {
    notices_.add(Severity::Bad, "Not opened: " + now);
  }
  if (const auto written = doctor_.take_written()) {
    notices_.add(written->ok() ? Severity::Good : Severity::Bad,
                 written->ok() ? "Report written: " + written->value()
                               : "Not written: " + written->error().message);
    changed = true;
  }
  for (profiling::RecordedVisit& visit : doctor_.take_visits()) {
    state_.add_live_visit(std::move(visit));
    if (recorder_ != nullptr) recorder_->append(state_.live_visits().back());
  }
  return changed;
}

void Shell::take_stall(const RunError& failure) {
  const engine::RunRequest* request = link_.request_of(failure.id);
  doctor_.stalled(request == nullptr ? state_.requested : *request, failure.stalled);
  std::string text = "The run stalled: " + failure.error.message + ".";
  if (std::exchange(state_.live, false)) {
    text += " Live is off, or the next worker would run into it again.";
  }
  notices_.add(Severity::Bad, std::move(text));
  // A visit is kept beside the live runs: a recording on screen would hide it.
  state_.back_to_live();
  state_.workspace = Workspace::Graphs;
  asked_graphs_view_ = kDoctorView;
}

void Shell::carry_out_doctor(const CommandSlots& commands) {
  if (commands.cancel_visit) doctor_.cancel();
  if (!commands.fetch_library.empty()) libraries_.fetch(commands.fetch_library);
  if (commands.cancel_fetch) libraries_.cancel();
  if (commands.use_library) {
    engine::RunRequest request = state_.requested;
    request.cublaslt_library = *commands.use_library;
    // This person has had it fetched.
    consent_.allow(request.cublaslt_library);
    link_.allow_libraries(consent_.allowed());
    show_request(request);
  }
  if (commands.open_graph) files_.open(FilePurpose::OpenGraph, settings_.folder, "");
  CommandSlots again;
  again.examine = commands.examine;
  if (commands.examine && may_load(commands.examine->subject.request.cublaslt_library, "visit",
                                   [this, again] { carry_out_doctor(again); })) {
    // A visit is kept beside the live runs: a recording on screen would hide it.
    state_.back_to_live();
    doctor_.visit(*commands.examine, options_.worker, consent_.allowed());
  }
  if (commands.export_report != nullptr) {
    report_to_export_ = commands.export_report;
    files_.open(FilePurpose::ExportReport, settings_.folder, "graph-doctor.md");
  }
}

void Shell::export_report(const std::string& path) {
  if (report_to_export_ == nullptr) return;
  const bool named = path.ends_with(".md") || path.ends_with(".json");
  doctor_.write(report_to_export_, named ? path : path + ".md");
  report_to_export_.reset();
}

}  // namespace app

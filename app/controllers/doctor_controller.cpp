#include "app/controllers/doctor_controller.h"

#include <utility>

#include "app/doctor/library_versions.h"
#include "app/doctor/opened_report.h"
#include "app/doctor/visit.h"
#include "app/doctor/worker_runner.h"
#include "app/protocol/shipped_recordings.h"
#include "engine/model/backend_traits.h"
#include "profiling/session/session_file.h"

namespace app {
namespace {

using Facts = engine::Result<std::vector<profiling::LibraryFact>>;

std::string subject_text(const VisitOrder& order) {
  if (order.subject.gallery_case.empty()) {
    return order.uses_current_request ? "the step in the rail" : "the step on screen";
  }
  return order.subject.gallery_case + (order.subject.healthy ? ", healthy twin" : "");
}

engine::Result<DoctorState::Report> by_the_rules(profiling::Snapshot snapshot) {
  const Facts facts = shipped_facts();
  if (!facts.ok()) return facts.error();
  return std::make_shared<const profiling::DoctorReport>(
      report_by_rules(std::move(snapshot), facts.value()));
}

profiling::RecordedVisit kept_visit(const engine::RunRequest& request,
                                    profiling::DoctorReport report) {
  return {
      .request = request, .report = std::move(report), .wall_clock_ms = profiling::unix_time_ms()};
}

/// Changes that are worth a copy of the report: most pulses only move the marker board.
bool grew(const profiling::DoctorReport& now, const DoctorState::Report& before) {
  if (before == nullptr || now.experiments.size() != before->experiments.size() ||
      now.findings.size() != before->findings.size() ||
      now.snapshot.graphs.size() != before->snapshot.graphs.size()) {
    return true;
  }
  for (std::size_t i = 0; i < now.findings.size(); ++i) {
    if (now.findings[i].confidence != before->findings[i].confidence) return true;
  }
  return false;
}

}  // namespace

std::string visit_refusal(const DoctorState& doctor, const LinkStatus& link,
                          const std::optional<WorkerHello>& hello) {
  if (doctor.busy) return "A visit is in progress";
  if (!hello) {
    return link.reason.empty() ? "No worker is ready yet" : "No worker: " + link.reason;
  }
  std::string why = "The worker offers no CUDA backend";
  for (const BackendOffer& offer : hello->backends) {
    if (!engine::traits_of(offer.kind).device) continue;
    if (offer.available) return "";
    if (!offer.reason.empty()) why = offer.reason;
  }
  if (!why.empty() && why[0] >= 'a' && why[0] <= 'z')
    why[0] = static_cast<char>(why[0] - 'a' + 'A');
  return "Graphs are captured and replayed on a GPU. " + why +
         ". Recorded visits, recordings and .dot files can be examined without one.";
}

DoctorController::DoctorController(std::function<void()> wake)
    : wake_(std::move(wake)),
      visit_task_(wake_),
      stall_task_(wake_),
      run_task_(wake_),
      file_task_(wake_),
      gallery_task_(wake_) {}

DoctorController::~DoctorController() { *cancel_ = true; }

void DoctorController::visit(const VisitOrder& order, const PlacedWorker& worker,
                             const std::vector<std::string>& allowed_libraries) {
  if (visit_task_.running()) return;
  cancel_ = std::make_shared<std::atomic<bool>>(false);
  shared_ = std::make_shared<Shared>();
  state_.busy = true;
  state_.proving = order.options.prove;
  state_.error.clear();
  state_.progress = {};
  state_.so_far.reset();
  state_.subject = subject_text(order);
  visit_task_.start([order, worker, allowed_libraries, shared = shared_, cancel = cancel_,
                     wake = wake_]() -> VisitResult {
    const Facts facts = shipped_facts();
    if (!facts.ok()) return facts.error();
    VisitOrder there = order;
    if (worker.files != nullptr) {
      const engine::Status placed = worker.files->with([&](SentFiles& files) {
        return files.place_all(there.subject.request,
                               {.progress = {}, .stop = [cancel] { return cancel->load(); }});
      });
      if (!placed.ok()) return placed.error();
    }
    WorkerRunner runner({.worker = worker.command, .allowed_libraries = allowed_libraries});
    const auto publish = [&](const VisitProgress& progress) {
      {
        const std::lock_guard lock(shared->mutex);
        shared->changed = true;
        shared->progress.doing = progress.doing;
        shared->progress.experiment = progress.experiment;
        shared->progress.experiments = progress.experiments;
        shared->progress.replay = progress.replay;
        shared->progress.board = progress.board;
        if (grew(progress.so_far, shared->so_far)) {
          shared->so_far = std::make_shared<const profiling::DoctorReport>(progress.so_far);
        }
      }
      wake();
    };
    auto report = app::visit(there.subject, order.options, facts.value(), runner, publish, *cancel);
    if (!report.ok()) return report.error();
    const bool of_gallery = !order.subject.gallery_case.empty();
    return kept_visit(of_gallery ? engine::RunRequest() : order.subject.request,
                      std::move(report).value());
  });
}

void DoctorController::stalled(const engine::RunRequest& request,
                               const std::shared_ptr<const DoctorDone>& seen) {
  stall_task_.start([request, seen]() -> VisitResult {
    const Facts facts = shipped_facts();
    if (!facts.ok()) return facts.error();
    return kept_visit(request, report_of_stall(request, *seen, facts.value()));
  });
}

void DoctorController::cancel() { *cancel_ = true; }

void DoctorController::examine(const std::shared_ptr<const profiling::RecordedRun>& run) {
  if (run == examined_run_) return;
  examined_run_ = run;
  state_.run_report.reset();
  state_.examines_run = false;
  // Findings of the previous run must not appear as this one's.
  run_task_.drop();
  if (run == nullptr || run->snapshot.graphs.empty()) return;
  state_.examines_run = true;
  run_task_.start([run] { return by_the_rules(run->snapshot); });
}

void DoctorController::open(const std::string& path) {
  state_.file_error.clear();
  file_task_.start([path]() -> engine::Result<ExaminedFile> {
    auto opened = profiling::open_snapshot(path);
    if (!opened.ok()) return opened.error();
    const Facts facts = shipped_facts();
    if (!facts.ok()) return facts.error();
    profiling::OpenedSnapshot& shown = opened.value()[most_certain(opened.value())];
    const std::string doubt = shown.doubt;
    return ExaminedFile{.report = std::make_shared<const profiling::DoctorReport>(
                            report_of(std::move(shown), facts.value())),
                        .doubt = doubt};
  });
}

void DoctorController::show_recorded(const std::string& gallery_case) {
  wanted_case_ = gallery_case;
  state_.file_error.clear();
  if (gallery_) return show_wanted_case();
  if (!gallery_task_.running())
    gallery_task_.start([] { return open_gallery(kGalleryRecording.path()); });
}

void DoctorController::show_wanted_case() {
  const auto found = gallery_->visits.find(wanted_case_);
  if (found == gallery_->visits.end()) {
    state_.file_error = gallery_->path + " holds no visit to " + wanted_case_;
    return;
  }
  state_.recorded_case = found->second;
  ++state_.recorded_shown;
}

bool DoctorController::tick() {
  bool changed = false;
  {
    const std::lock_guard lock(shared_->mutex);
    if (std::exchange(shared_->changed, false)) {
      state_.progress = shared_->progress;
      state_.so_far = shared_->so_far;
      changed = true;
    }
  }
  if (auto result = visit_task_.take()) {
    changed = true;
    state_.busy = false;
    if (result->ok()) {
      finished_.push_back(std::move(*result).value());
    } else {
      // It stays on screen until the next visit, whatever is chosen meanwhile.
      state_.error =
          state_.subject + ": " +
          (result->error().code == engine::ErrorCode::Cancelled ? "the visit was cancelled."
                                                                : result->error().message);
    }
  }
  if (auto result = stall_task_.take()) {
    changed = true;
    if (result->ok()) {
      finished_.push_back(std::move(*result).value());
    } else {
      state_.error = result->error().message;
    }
  }
  if (auto report = run_task_.take()) {
    changed = true;
    state_.examines_run = false;
    if (report->ok()) state_.run_report = std::move(*report).value();
    if (!report->ok()) state_.error = report->error().message;
  }
  if (auto file = file_task_.take()) {
    changed = true;
    if (file->ok()) {
      state_.file_report = file->value().report;
      state_.file_doubt = file->value().doubt;
      ++state_.files_opened;
    } else {
      state_.file_error = file->error().message;
    }
  }
  if (auto gallery = gallery_task_.take()) {
    changed = true;
    if (gallery->ok()) {
      gallery_ = std::move(*gallery).value();
      show_wanted_case();
    } else {
      state_.file_error = gallery->error().message;
    }
  }
  return changed;
}

}  // namespace app

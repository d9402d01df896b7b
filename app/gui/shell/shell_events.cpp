// News from the worker and the background threads, taken in between frames.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "app/gui/shell/request_choices.h"
#include "app/gui/shell/shell.h"
#include "app/protocol/recorded_run.h"

namespace app {
namespace {

/// "3 run(s), 1 comparison(s)": what there was of each.
std::string written_words(const Recorder::Progress& progress) {
  std::string words = fmt::format("{} run(s)", progress.written);
  if (progress.comparisons > 0) words += fmt::format(", {} comparison(s)", progress.comparisons);
  if (progress.histories > 0) {
    words += fmt::format(", {} amax {}", progress.histories,
                         progress.histories == 1 ? "history" : "histories");
  }
  if (progress.visits > 0) words += fmt::format(", {} visit(s) to the doctor", progress.visits);
  return words;
}

bool differs(const LinkStatus& a, const LinkStatus& b) {
  return a.state != b.state || a.reason != b.reason || a.pid != b.pid ||
         a.pulse.request_id != b.pulse.request_id || a.pulse.stage != b.pulse.stage ||
         a.pulse.iteration != b.pulse.iteration || a.pulse.iterations != b.pulse.iterations ||
         a.pulse.fraction != b.pulse.fraction || a.pulse.replay != b.pulse.replay ||
         a.pulse.board != b.pulse.board || a.cancel_overdue != b.cancel_overdue ||
         a.dropped_logs != b.dropped_logs;
}

}  // namespace

bool Shell::tick() {
  bool changed = std::exchange(redraw_, false) || picture_.has_value();
  const bool automatic = link_.automatic;
  for (LinkEvent& event : link_.poll()) {
    take_event(std::move(event));
    changed = true;
  }
  compare_next();
  changed = tick_batches() || changed;
  step_next();
  if (automatic && !link_.automatic) {
    notices_.add(Severity::Bad,
                 "The worker was lost too often: it is no longer restarted automatically.");
    settings_.restart_automatically = false;
    changed = true;
  }
  // Each of them is asked, whatever the others say.
  const bool loaded = take_recording();
  const bool second = take_second();
  const bool written = take_recorders();
  const bool examined = take_doctor();
  const bool fetched = libraries_.tick();
  const bool checked = recent_.tick();
  const bool toured = tick_player();
  changed = changed || loaded || second || written || examined || fetched || checked || toured;
  for (const std::unique_ptr<WorkspacePanel>& panel : panels_) changed = panel->tick() || changed;
  if (tour_) {
    tick_tour();
    // While it waits, only news are drawn.
    changed = changed || (tour_->phase() != Tour::Phase::WaitForWorker &&
                          tour_->phase() != Tour::Phase::WaitForResult);
  }
  return status_changed() || changed;
}

bool Shell::timing() const {
  const LinkStatus link = link_.status();
  if (link.state != LinkState::Busy || link.pulse.iterations <= 0 || link.pulse.iteration < 0) {
    return false;
  }
  return local_worker();
}

bool Shell::local_worker() const {
  std::array<char, 256> name{};
  const bool named = ::gethostname(name.data(), name.size() - 1) == 0;
  return named && link_.hello() && link_.hello()->host == name.data();
}

bool Shell::status_changed() {
  LinkStatus now = link_.status();
  // Why a worker is stalled counts seconds; the words on screen need not follow each of them.
  if (now.state == LinkState::Stalled && drawn_status_.state == LinkState::Stalled) {
    drawn_status_.reason = now.reason;
    return false;
  }
  DeviceWords device = device_words(now, link_.hello());
  const bool changed = differs(now, drawn_status_) || device != drawn_device_;
  drawn_status_ = std::move(now);
  drawn_device_ = std::move(device);
  return changed;
}

void Shell::take_event(LinkEvent&& event) {
  if (const auto* hello = std::get_if<WorkerHello>(&event)) {
    take_hello(*hello);
  } else if (auto* done = std::get_if<RunDone>(&event)) {
    take_run(std::move(*done));
  } else if (auto* compared = std::get_if<ComparisonDone>(&event)) {
    take_comparison(std::move(*compared));
  } else if (auto* stepped = std::get_if<HistoryDone>(&event)) {
    take_history(std::move(*stepped));
  } else if (const auto* error = std::get_if<RunError>(&event)) {
    const bool of_history = link_.is_history(error->id);
    const bool of_comparison = link_.request_of(error->id) == nullptr;
    if (error->stalled != nullptr) take_stall(*error);
    link_.answered(error->id);
    if (batches_.take_error(error->id, error->error, link_)) return;
    if (error->error.code == engine::ErrorCode::Cancelled) return;
    (of_history      ? state_.history_error
     : of_comparison ? state_.comparison_error
                     : state_.last_error) = error->error.message;
  } else if (const auto* report = std::get_if<FileReport>(&event)) {
    rail_.file_inspected(*report);
  } else if (const auto* line = std::get_if<LogReport>(&event);
             line != nullptr && line->level > 0) {
    notices_.add(line->level > 1 ? Severity::Bad : Severity::Warn, "Worker: " + line->text);
  }
}

void Shell::take_hello(const WorkerHello& hello) {
  while (consent_.question() != nullptr && has_library(hello, consent_.question()->library)) {
    answer_library(true);  // it is the worker's own
  }
  const auto available = [&](engine::GemmBackend kind) {
    return std::any_of(hello.backends.begin(), hello.backends.end(),
                       [&](const BackendOffer& one) { return one.kind == kind && one.available; });
  };
  if (first_hello_ && !run_at_hello_) {
    state_.requested.backend = available(engine::GemmBackend::CublasLtGrouped)
                                   ? engine::GemmBackend::CublasLtGrouped
                                   : engine::GemmBackend::CpuReference;
  }
  const bool run = run_at_hello_ || (state_.live && !state_.from_file() &&
                                     (state_.shown() == nullptr || state_.stale()));
  first_hello_ = false;
  run_at_hello_ = false;
  if (tour_) {
    tour_->worker_ready();
  } else if (run) {
    submit();
  }
}

void Shell::take_run(RunDone&& done) {
  const std::uint64_t id = done.result.id;
  const engine::RunRequest* known = link_.request_of(id);
  const engine::RunRequest request = known != nullptr ? *known : done.result.effective;
  link_.answered(id);
  profiling::RecordedRun run = recorded_run(std::move(done), request);
  const std::optional<profiling::RunGroup> group = batches_.take_result(id);
  if (group) run.group = *group;
  state_.add_live_run(std::move(run));
  const int frames = std::exchange(frames_while_timing_, 0);
  if (local_worker()) state_.set_frames_of_newest(frames);
  state_.last_error.clear();
  if (recorder_ != nullptr) recorder_->append(state_.live_runs().back());
}

void Shell::take_comparison(ComparisonDone&& done) {
  link_.answered(done.comparison.id);
  state_.add_live_comparison(
      {.comparison = std::move(done.comparison), .wall_clock_ms = profiling::unix_time_ms()});
  state_.comparison_error.clear();
  if (recorder_ != nullptr) recorder_->append(state_.live_comparisons().back());
}

void Shell::take_history(HistoryDone&& done) {
  link_.answered(done.history.id);
  state_.add_live_history(
      {.history = std::move(done.history), .wall_clock_ms = profiling::unix_time_ms()});
  state_.history_error.clear();
  if (recorder_ != nullptr) recorder_->append(state_.live_histories().back());
}

bool Shell::take_recording() {
  auto loaded = loader_.take();
  if (!loaded) return false;
  if (loaded->ok()) {
    note_libraries(loaded->value());
    state_.open_recording(std::move(*loaded).value());
    return true;
  }
  state_.last_error = loaded->error().message;
  notices_.add(Severity::Bad, "Not opened: " + loaded->error().message);
  return true;
}

bool Shell::take_recorders() {
  bool changed = false;
  for (const std::string& failure : BackgroundFailures::take()) {
    notices_.add(Severity::Bad, "A part of the window could not be worked out: " + failure);
    changed = true;
  }
  while (const auto outcome = writes_.take()) {
    if (outcome->ok()) {
      // Notes are edited word by word; a file is worth a line of its own.
      outcome->value().starts_with("Notes") ? void(says_ = outcome->value())
                                            : notices_.add(Severity::Good, outcome->value());
    } else {
      notices_.add(Severity::Bad, outcome->error().message);
    }
    changed = true;
  }
  const auto settle = [&](std::unique_ptr<Recorder>& one, const char* done, const char* failed) {
    if (one == nullptr) return;
    const Recorder::Progress progress = one->progress();
    for (const std::string& notice : one->take_notices()) {
      notices_.add(Severity::Warn, notice);
      changed = true;
    }
    if (!progress.finished) return;
    if (progress.error.empty()) {
      notices_.add(Severity::Good,
                   fmt::format("{} {} {}", written_words(progress), done, progress.path));
    } else {
      notices_.add(Severity::Bad, failed + progress.error +
                                      (progress.waiting > 0 ? ". Save writes what the window holds "
                                                              "to another place"
                                                            : ""));
    }
    one.reset();
    changed = true;
  };
  settle(recorder_, "recorded in", "The recording ended: ");
  settle(saver_, "saved in", "Not saved: ");
  Recorder::Progress now = recorder_ == nullptr ? Recorder::Progress{} : recorder_->progress();
  changed = changed || now.written != drawn_recording_.written ||
            now.waiting != drawn_recording_.waiting || now.error != drawn_recording_.error;
  if (recorder_ != nullptr) recording_path_ = now.path;
  drawn_recording_ = std::move(now);
  return changed;
}

}  // namespace app

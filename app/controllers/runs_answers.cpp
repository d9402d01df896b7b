// What each answer of the worker changes: its greeting, results, errors and the lines of its log;
// and how a batch ended.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/controllers/field_words.h"
#include "app/controllers/runs_controller.h"
#include "app/protocol/recorded_run.h"

namespace app {

void RunsController::take(WorkerHello&& hello) {
  state.drop_preview();
  const auto available = [&](engine::GemmBackend kind) {
    return std::ranges::any_of(
        hello.backends, [&](const BackendOffer& one) { return one.kind == kind && one.available; });
  };
  const bool keep = std::exchange(keep_backend_, true);
  // One that was left on another machine, or before the device went away, may not be there.
  const bool gone =
      std::exchange(backend_remembered_, false) && !available(state.requested.backend);
  if (!keep || gone) {
    state.requested.backend = available(engine::GemmBackend::CublasLtGrouped)
                                  ? engine::GemmBackend::CublasLtGrouped
                                  : engine::GemmBackend::CpuReference;
  }
  asked_inspection_.reset();
  // These may come from another machine, or from before the worker was lost.
  file_reports_.clear();
  greeted_ = has_greeted_ = true;
  dump_asked_ = false;
  const bool run = std::exchange(run_at_greeting_, false);
  if (opening_) {
    opening_->asked = false;
    opening_->run = run || opening_->run;
    return;
  }
  if (run) return submit();
  const bool first = state.live_results().runs.empty();
  if (!state.live || state.from_file() || (state.shown() != nullptr && !state.stale())) return;
  submit();
  if (first) run_by_itself_ = link.newest_id();
}

void RunsController::take(RunDone&& done) {
  const std::uint64_t id = done.result.id;
  const engine::RunRequest* known = link.order_of<engine::RunRequest>(id);
  const engine::RunRequest request = known != nullptr ? *known : done.result.effective;
  link.answered(id);
  profiling::RecordedRun run = recorded_run(std::move(done), request);
  if (const std::optional<profiling::RunGroup> group = batches_.take_result(id)) run.group = *group;
  state.drop_preview();
  results_.emplace_back(state.add_live(std::move(run)));
  const int frames = std::exchange(frames_while_timing_, 0);
  if (local_worker()) state.set_frames_of_newest(frames);
  if (id == run_by_itself_) state.set_made_by_itself();
  state.last_error.clear();
}

void RunsController::take(RunPreview&& preview) {
  const std::uint64_t id = preview.result.id;
  const engine::RunRequest* request = link.order_of<engine::RunRequest>(id);
  // A run of a batch does not take the screen; an outdated one is not worth it.
  if (request == nullptr || id != link.newest_order() || batches_.running()) return;
  RunDone known;
  known.result = std::move(preview.result);
  known.power = std::move(preview.power);
  state.show_preview(recorded_run(std::move(known), *request));
}

void RunsController::take(engine::RecipeComparison&& comparison) {
  link.answered(comparison.id);
  results_.emplace_back(state.add_live(profiling::RecordedComparison{
      .comparison = std::move(comparison), .wall_clock_ms = profiling::unix_time_ms()}));
  state.comparison_error.clear();
}

void RunsController::take(RunError&& error) {
  state.drop_preview();
  const engine::RunRequest* request = link.order_of<engine::RunRequest>(error.id);
  if (error.stalled != nullptr) {
    std::string text = "The run stalled: " + error.error.message + ".";
    if (std::exchange(state.live, false)) {
      text += " Live is off: the next worker would stall again.";
    }
    notices_.add(Severity::Bad, std::move(text));
    stall_ = {request == nullptr ? state.requested : *request, error.stalled};
  }
  link.answered(error.id);
  if (batches_.take_error(error.id, error.error, link)) return;
  if (error.error.code == engine::ErrorCode::Cancelled) return;
  (link.order_of<engine::ComparisonRequest>(error.id) ? state.comparison_error : state.last_error) =
      in_rail_words(error.error.message);
}

void RunsController::take(LogReport&& line) {
  if (line.level <= 0) return;
  notices_.add(line.level > 1 ? Severity::Bad : Severity::Warn, "Worker: " + line.text);
}

bool RunsController::step_batches() {
  batches_.step(link);
  if (!batches_.take_end()) return false;
  const BatchStatus now = batch();
  const char* what = now.kind == profiling::GroupKind::Sweep ? "Sweep" : "A against B";
  if (now.state == BatchState::Failed) {
    notices_.add(Severity::Bad, fmt::format("{} ended: {}", what, now.error));
  } else if (now.state == BatchState::Cancelled) {
    notices_.add(Severity::Warn, fmt::format("{} cancelled: {} of {} runs are kept", what,
                                             now.progress.measured, now.progress.total));
  }
  return true;
}

}  // namespace app

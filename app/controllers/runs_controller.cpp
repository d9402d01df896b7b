#include "app/controllers/runs_controller.h"

#include <unistd.h>

#include <array>
#include <utility>

#include "app/controllers/field_words.h"
#include "engine/model/backend_traits.h"

namespace app {

RunsController::RunsController(const WorkerCommand& worker, const std::function<void()>& wake,
                               LibraryController& libraries, Notices& notices, bool no_worker)
    : link(worker, wake), libraries_(libraries), notices_(notices), no_worker_(no_worker) {}

/// Without a worker nothing is loaded, so nobody is asked.
bool RunsController::may_load(const std::string& library, Command order) {
  return no_worker_ || libraries_.may_load(library, link, std::move(order));
}

void RunsController::start_worker(const std::string& cublaslt) {
  if (no_worker_) return notices_.set_status("This window was opened without a worker");
  if (!may_load(cublaslt, StartWorker{cublaslt})) return;
  state.last_error.clear();
  next_comparison_.reset();
  link.start(cublaslt);
  if (!link.started()) {
    notices_.add(Severity::Bad, "No worker was started: " + link.status().reason);
  }
}

void RunsController::move_to(PlacedWorker place) {
  const bool other = place.command.remote != link.place().command.remote;
  cancel();
  asked_inspection_.reset();
  link.move_to(std::move(place));
  if (other) {
    // Until the first worker greets, the request may be one that was given with its backend. A
    // request for a device keeps its backend where the other machine has it.
    if (engine::traits_of(state.requested.backend).device) {
      remember_backend();
    } else if (has_greeted_) {
      keep_backend_ = false;
    }
    if (!state.requested.cublaslt_library.empty()) {
      engine::RunRequest request = state.requested;
      request.cublaslt_library.clear();
      history_.changed(state.requested, request, 0);
      state.requested = std::move(request);
      notices_.set_status("The request uses the library of the other machine");
    }
  }
  start_worker(state.requested.cublaslt_library);
}

void RunsController::replace_worker() {
  const bool stuck = link.status().cancel_overdue;
  start_worker(link.cublaslt());
  if (stuck && std::exchange(state.live, false)) {
    notices_.add(
        Severity::Warn,
        "Live is off: the next worker would get the run that the last one did not finish.");
  }
}

void RunsController::submit() {
  if (!engine::validate(state.requested).ok()) return;
  if (!may_load(state.requested.cublaslt_library, Action::Run)) return;
  state.back_to_live();
  state.last_error.clear();
  if (!may_take_its_time()) return;
  keep_comparison();
  frames_while_timing_ = 0;
  link.submit(state.requested);
}

bool RunsController::may_take_its_time() {
  long_run_.reset();
  if (wanted_ == state.requested) return true;
  long_run_ = app::long_run(
      state.requested, [this](engine::GemmBackend backend) { return link.offer(backend); },
      state.live_results().runs);
  return !long_run_;
}

void RunsController::answer(LongRunAnswer answer) {
  if (!long_run_) return;
  const LongRun asked = *std::exchange(long_run_, std::nullopt);
  if (answer == LongRunAnswer::Drop || asked.request != state.requested) return;
  const engine::RunRequest& chosen = answer == LongRunAnswer::Run ? asked.request : asked.shrunk;
  wanted_ = chosen;
  edit(chosen, 0, true);
}

bool RunsController::may_compare(const engine::ComparisonRequest& request) {
  compared_from_ = state.shown_request();
  const engine::Status status = engine::validate(request);
  state.comparison_error = status.ok() ? "" : in_rail_words(status.error().message);
  return status.ok();
}

void RunsController::inspect(engine::ComparisonRequest request) {
  if (!may_compare(request)) return;
  // Quantizing uses no cuBLASLt: no reason to load the one that a recording names.
  request.request.cublaslt_library.clear();
  next_comparison_ = std::move(request);
  send_next_comparison();
}

void RunsController::compare(const engine::ComparisonRequest& request) {
  if (!may_compare(request)) return;
  if (!may_load(request.request.cublaslt_library, request)) return;
  state.back_to_live();
  compared_from_ = state.shown_request();
  next_comparison_ = request;
  send_next_comparison();
}

void RunsController::send_next_comparison() {
  if (!next_comparison_ || (link.waiting() && !link.waiting_for<engine::ComparisonRequest>())) {
    return;
  }
  asked_comparison_ = *std::exchange(next_comparison_, std::nullopt);
  if (link.submit(asked_comparison_) != 0) return;
  state.comparison_error = "There is no worker: " + link.status().reason;
}

void RunsController::keep_comparison() {
  if (link.waiting_for<engine::ComparisonRequest>() && !next_comparison_) {
    next_comparison_ = asked_comparison_;
  }
}

void RunsController::start(const SweepOrder& order) {
  if (!may_load(order.base.cublaslt_library, order)) return;
  batches_.start(order, link.hello());
  step_started_batch();
}

void RunsController::start(const InterleavedOrder& order) {
  if (!may_load(order.a.cublaslt_library, order) || !may_load(order.b.cublaslt_library, order)) {
    return;
  }
  batches_.start(order, link.hello());
  step_started_batch();
}

void RunsController::step_started_batch() {
  if (!batches_.running()) return;  // refused: the recording stays, and the page says why
  state.back_to_live();             // as for a run: the next result is a live one
  batches_.step(link);
}

void RunsController::cancel() {
  next_comparison_.reset();
  batches_.cancel();
  link.cancel();
}

void RunsController::edit(const engine::RunRequest& request, std::uint64_t gesture, bool run) {
  if (request != state.requested) {
    notices_.set_status("");
    history_.changed(state.requested, request, gesture);
    state.requested = request;
    if (!run) run_if_live();
  }
  if (run) submit();
}

/// A change of the request must not take a recording off the screen.
void RunsController::run_if_live() {
  if (state.live && !state.from_file() && !opening_) submit();
}

void RunsController::choose(const engine::RunRequest& request) {
  history_.changed(state.requested, request, 0);
  show(request);
}

void RunsController::show(const engine::RunRequest& request) {
  const bool other_library = request.cublaslt_library != state.requested.cublaslt_library;
  state.requested = request;
  // One process can load only one cuBLASLt.
  if (other_library && !no_worker_) start_worker(request.cublaslt_library);
  run_if_live();
}

void RunsController::take_over() {
  if (!state.shows_recorded_request()) return;
  const engine::RunRequest request = state.shown_request();
  history_.took_over(state.requested, request, {state.session_path(), state.recorded_index()});
  state.back_to_live();
  show(request);
  notices_.set_status("The recorded request is yours now; Ctrl+Z goes back to the recording");
}

std::optional<RecordedPlace> RunsController::undo(bool back) {
  std::optional<RequestHistory::Step> step = back ? history_.undo() : history_.redo();
  if (!step) return std::nullopt;
  notices_.set_status((back ? "Undone: " : "Redone: ") +
                      (step->from ? "the recorded request was taken over" : step->words));
  if (!back && step->from) state.back_to_live();
  // Back in the recording nothing is to be run.
  const bool live = state.live;
  state.live = live && !(back && step->from);
  show(step->request);
  state.live = live;
  return back ? std::move(step->from) : std::nullopt;
}

void RunsController::back_to_live() {
  state.back_to_live();
  if (state.shown() == nullptr || state.stale()) run_if_live();
}

void RunsController::can_follow(bool quick) {
  if (!quick && std::exchange(state.live, false)) {
    slow_shape_ = true;
    notices_.add(Severity::Warn,
                 "Live is off: on a CPU a run of this shape takes too long to follow every change. "
                 "Press Run (F5).");
  } else if (quick && std::exchange(slow_shape_, false)) {
    state.live = true;
    notices_.add(Severity::Good, "Live is on again: this shape is small enough for a CPU.");
  }
}

void RunsController::set_live(bool live) {
  state.live = live;
  slow_shape_ = false;
  if (!link.waiting() && !state.answers()) run_if_live();
}

bool RunsController::tick() {
  const bool automatic = link.automatic;
  std::vector<LinkEvent> events = link.poll();
  // The rest of it will not arrive.
  if (link.status().state == LinkState::Lost) state.drop_preview();
  for (LinkEvent& event : events) {
    std::visit([this](auto& one) { take(std::move(one)); }, event);
  }
  if (opening_ && link.hello() && !std::exchange(opening_->asked, true)) {
    link.inspect_file({.path = opening_->file.path});
  }
  if (dump_ && link.hello() && !std::exchange(dump_asked_, true)) {
    link.inspect_file(*dump_->next());
  }
  send_next_comparison();
  // The question was about another request, or the error.
  if (long_run_ && long_run_->request != state.requested) long_run_.reset();
  if (compared_from_ != state.shown_request()) state.comparison_error.clear();
  bool changed = step_batches() || !events.empty();
  if (automatic && !link.automatic) {
    notices_.add(Severity::Bad,
                 "The worker was lost too often: it is no longer restarted automatically.");
    changed = true;
  }
  return changed;
}

bool RunsController::timing() const {
  const LinkStatus now = link.status();
  // The last pulse of an order remains for a while after its answer.
  // A preview says that it has timed them, before the pulse behind the records does.
  const bool pending =
      link.waiting() && now.pulse.request_id == link.newest_order() && !state.shows_preview();
  return pending && now.state == LinkState::Busy && now.pulse.iterations > 0 &&
         now.pulse.iteration >= 0 && local_worker();
}

void RunsController::frame_drawn() {
  if (timing()) ++frames_while_timing_;
}

bool RunsController::local_worker() const {
  std::array<char, 256> name{};
  const bool named = ::gethostname(name.data(), name.size() - 1) == 0;
  return named && link.hello() && link.hello()->host == name.data();
}

}  // namespace app

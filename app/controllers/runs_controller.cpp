#include "app/controllers/runs_controller.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "app/controllers/field_words.h"
#include "app/controllers/operand_file.h"
#include "app/protocol/recorded_run.h"
#include "engine/model/backend_traits.h"
#include "engine/model/path_text.h"

namespace app {
namespace {

// Beyond any number of presses of the mouse: an opened file is an undo step of its own.
constexpr std::uint64_t kFirstOpening = std::uint64_t{1} << 63;

std::string file_name(const std::string& path) {
  return engine::shown_path(std::filesystem::path(path).filename().string());
}

}  // namespace

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

void RunsController::use_tensor(const UseTensor& file) {
  state.last_error.clear();
  const std::uint64_t gesture = kFirstOpening + openings_++;
  engine::RunRequest request = state.requested;
  const engine::InputSpec before =
      std::exchange(input_of(request, file.operand), engine::FileInput{file.path, {}});
  history_.changed(state.requested, request, gesture);
  state.requested = std::move(request);
  notices_.set_status(
      fmt::format("{} gives the values of {}{}", file_name(file.path), operand_name(file.operand),
                  no_worker_ ? "; this window has no worker that could read it" : ""));
  if (no_worker_) return;
  opening_ = {.file = file, .before = before, .gesture = gesture};
}

void RunsController::use_dump(const std::vector<DumpPart>& parts) {
  state.last_error.clear();
  if (no_worker_) {
    return notices_.set_status("This window has no worker that could read the files");
  }
  opening_.reset();
  dump_.emplace(parts_for(parts, state.requested));
  dump_asked_ = false;
  notices_.set_status("Reading the headers of " + dump_words(dump_->parts()));
}

void RunsController::take_dump() {
  const DumpReading dump = *std::exchange(dump_, std::nullopt);
  auto request = dump.fitted(state.requested);
  if (!request.ok()) {
    state.last_error = request.error().message;
    notices_.set_status("");
    return;
  }
  history_.changed(state.requested, request.value(), kFirstOpening + openings_++);
  state.requested = std::move(request).value();
  notices_.set_status(dump_words(dump.parts()) + " come from the dump; Ctrl+Z takes them back");
  run_if_live();
}

void RunsController::fit_to(const FileReport& report) {
  Opening opening = *std::exchange(opening_, std::nullopt);
  const auto* file =
      std::get_if<engine::FileInput>(&input_of(state.requested, opening.file.operand));
  // Chosen otherwise meanwhile.
  if (file == nullptr || file->path != report.path) return run_if_live();
  auto request = fitted(opening, report);
  if (!request.ok()) {
    state.last_error = request.error().message;
    if (opening.file.opened && !report.error.empty()) unreadable_ = report.path;
    return;
  }
  const engine::RunRequest before = std::exchange(state.requested, std::move(request).value());
  history_.changed(before, state.requested, opening.gesture);
  engine::RunRequest resized = before;
  resized.shape = state.requested.shape;
  resized.shape.preset = before.shape.preset;
  const std::string change = request_difference(before, resized);
  const bool routes = state.requested.routing != before.routing;
  notices_.set_status(fmt::format(
      "{} gives {}{}", file_name(report.path),
      routes
          ? fmt::format("the routing{}", report.routing ? " (" + report.routing->source + ")" : "")
          : fmt::format("the values of {}", operand_name(opening.file.operand)),
      change.empty() ? "" : ": " + change));
  if (opening.run) return submit();
  run_if_live();
}

engine::Result<engine::RunRequest> RunsController::fitted_to_operand(
    Opening& opening, const FileReport& report) const {
  auto as_meant = fitted_to_file(state.requested, opening.file.operand, report);
  if (as_meant.ok() || !opening.file.opened || !report.error.empty()) return as_meant;
  // Nobody chose the operand: a file of weights is more than a file that is not X.
  for (const RequestOperand other : {RequestOperand::W, RequestOperand::WDown}) {
    if (other == RequestOperand::WDown && !engine::is_expert_layer(state.requested)) continue;
    engine::RunRequest request = state.requested;
    input_of(request, opening.file.operand) = opening.before;
    input_of(request, other) = engine::FileInput{report.path, {}};
    auto fits = fitted_to_file(std::move(request), other, report);
    if (!fits.ok() || !engine::validate(fits.value()).ok()) continue;
    opening.file.operand = other;
    return fits;
  }
  return as_meant;
}

engine::Result<engine::RunRequest> RunsController::fitted(Opening& opening,
                                                          const FileReport& report) const {
  if (!opening.file.opened || !(report.routing || holds_integers(report))) {
    return fitted_to_operand(opening, report);
  }
  engine::RunRequest request = state.requested;
  input_of(request, opening.file.operand) = opening.before;
  request.routing = {.distribution = engine::RoutingDistribution::File, .path = report.path};
  // A recording that needs another choice, of its layer say, is one too: its run says which.
  if (!report.routing) return request;
  return engine::fitted_to_routing(std::move(request), *report.routing);
}

void RunsController::take(FileReport&& report) {
  if (report.superseded) return;  // the answer to the newer question is on its way
  if (report.listing) return file_reports_.push_back(std::move(report));
  if (asked_inspection_ == FileQuestion{report.path, report.asked}) asked_inspection_.reset();
  if (opening_ && opening_->file.path == report.path && !report.asked) fit_to(report);
  if (dump_ && dump_->take(report)) {
    dump_asked_ = false;
    if (!dump_->next()) take_dump();
  }
  file_reports_.push_back(std::move(report));
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

void RunsController::inspect_file(const FileQuestion& question) {
  if (question.folder) return link.inspect_file(question);
  // One question can wait; the rail repeats its own until it is answered.
  if (question == asked_inspection_ || !link.hello() || dump_) return;
  asked_inspection_ = question;
  link.inspect_file(question);
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

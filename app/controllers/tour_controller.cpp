#include "app/controllers/tour_controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "app/page/tour_page.h"
#include "app/protocol/paths.h"
#include "app/protocol/shipped_recordings.h"
#include "engine/input/value_json.h"
#include "engine/model/path_text.h"
#include "engine/model/text.h"
#include "profiling/export/replaced_file.h"

namespace app {
namespace {

namespace fs = std::filesystem;

constexpr double kWorkerSeconds = 30;
// Pages build what they derive from a run on its first frame and may size themselves on the next.
constexpr int kSettleFrames = 4;

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A path, or the name of a recording that ships.
std::string recording_of(const TourStep& step) {
  if (step.recording.empty()) return step.open_sample ? kExampleRecording.path() : std::string();
  return fs::path(step.recording).has_parent_path() ? step.recording : shipped_path(step.recording);
}

}  // namespace

void Tour::go(std::size_t index) {
  index_ = index;
  phase_ = Phase::Begin;
  trouble_.clear();
}

void Tour::back() {
  if (!at_first()) go(index_ - 1);
}

void Tour::next() {
  if (!at_last()) go(index_ + 1);
}

void Tour::finish_step() {
  if (at_last()) {
    phase_ = Phase::Done;
  } else {
    next();
  }
}

void Tour::wait_for(std::uint64_t run_id) {
  awaited_run_ = run_id;
  phase_ = Phase::Wait;
}

void Tour::show(Seconds now, std::string trouble) {
  phase_ = Phase::Show;
  shown_at_ = now;
  trouble_ = std::move(trouble);
  if (!trouble_.empty()) pause();
}

bool Tour::advance(Seconds now) {
  if (!playing_ || phase_ != Phase::Show || now - shown_at_ < reading_seconds(step())) return false;
  if (at_last()) {
    playing_ = false;
  } else {
    next();
  }
  return true;
}

TourController::TourController(const Parts& parts, const std::function<void()>& wake)
    : parts_(parts), finder_(wake), loader_(wake) {}

void TourController::find_shipped() {
  finder_.start([folder = assets_folder() + "/tours"] {
    std::error_code error;
    std::vector<std::string> paths;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
      if (is_tour_file(entry.path().string())) paths.push_back(entry.path().string());
    }
    std::ranges::sort(paths);
    std::vector<Found> found;
    for (const std::string& path : paths) {
      const auto script = load_tour(path);
      found.push_back(script.ok() ? Found(Named{script.value().title, path})
                                  : Found(script.error()));
    }
    return found;
  });
}

void TourController::begin(TourScript script) {
  SessionState& state = parts_.runs.state;
  before_ = {.request = state.requested,
             .live = state.live,
             .page = on_screen_,
             .expert = state.expert,
             .recording = state.path_on_screen(),
             .open = state.session_path()};
  // Every run of a tour is one of its steps.
  state.live = false;
  tour_.emplace(std::move(script));
}

void TourController::play_to_pictures(const std::string& path, const std::string& folder) {
  parts_.runs.state.live = false;  // a worker that greets before the tour is read runs nothing
  parts_.libraries.refuse_questions();
  pictures_.emplace(Pictures{.recording = folder + "/tour.session", .folder = folder});
  loader_.start([path, folder, recording = pictures_->recording]() -> engine::Result<TourScript> {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error)
      return engine::Error{
          engine::ErrorCode::Io,
          engine::shown_path(folder) + ": " + engine::path_error_text(folder, error.value())};
    auto script = load_tour(path);
    // A second tour replaces the first one's recording.
    for (const char* suffix : {"", "-wal", "-shm"}) {
      if (script.ok()) fs::remove(recording + suffix, error);
    }
    return script;
  });
}

void TourController::take_script(engine::Result<TourScript> script) {
  const bool unattended = pictures_ && !tour_;
  if (!script.ok()) {
    if (unattended) return fail(script.error().message);
    parts_.files.forget_file(loading_);
    return parts_.notices.add(Severity::Bad, "Not played: " + script.error().message);
  }
  const TourScript& read = script.value();
  if (read.steps.empty()) {
    if (unattended) return fail(engine::shown_path(read.path) + ": it is not a tour");
    stop();  // the user's own request is the one that the splits change
    engine::RunRequest request = read.request.value_or(parts_.runs.state.requested);
    if (!read.request) {
      request.routing = {.distribution = engine::RoutingDistribution::File, .path = read.path};
      // Without facts the rail asks what the numbers are.
      if (read.routing) {
        request = engine::fitted_to_routing(std::move(request), *read.routing);
      }
    }
    return commands_.push_back(UseRequest{std::move(request), read.path});
  }
  if (unattended) {
    parts_.files.record_to(pictures_->recording);
  } else {
    stop();
    parts_.notices.set_status("");
    parts_.notices.clear();
  }
  begin(std::move(script).value());
  if (unattended) set_deadline(kWorkerSeconds);
}

void TourController::stop(After after) {
  if (!to_user()) return;
  tour_.reset();
  parts_.libraries.consent.withdraw<RepeatTourStep>();
  SessionState& state = parts_.runs.state;
  commands_.push_back(ShowPage{before_.page.page, before_.page.view});
  commands_.push_back(Select{before_.page.selection});
  state.expert = before_.expert;
  on_screen_ = before_.page;  // where an immediately following tour returns to
  state.live = before_.live;
  const bool live = before_.recording.empty() || after == After::MyRuns;
  if (live) {
    state.back_to_live();
    if (state.session_path() != before_.open) state.close_recording();
  } else if (before_.recording != state.path_on_screen()) {
    parts_.files.open_recording(before_.recording);
  }
  const bool changed = state.requested != before_.request;
  state.requested = before_.request;
  if (changed && state.live && live) parts_.runs.submit();
  parts_.notices.set_status("The tour has ended: the rail is as it was before");
}

bool TourController::tick() {
  bool changed = false;
  if (const auto found = finder_.take()) {
    changed = true;
    for (const Found& tour : found.value()) {
      if (tour.ok()) {
        shipped_.push_back(tour.value());
      } else {
        parts_.notices.add(Severity::Warn, "A tour cannot be played: " + tour.error().message);
      }
    }
  }
  if (auto script = loader_.take()) {
    changed = true;
    take_script(std::move(*script));
  }
  if (!tour_) return changed;
  if (pictures_) {
    const LinkSupervisor& link = parts_.runs.link;
    if (const auto library = parts_.libraries.take_refused()) {
      fail(library_refusal(tour_->script().path, *library));
    } else if (link.started() && link.status().state == LinkState::Lost) {
      fail("the worker is lost: " + link.status().reason);
    } else if (const std::string late = overdue(); !late.empty()) {
      fail(late);
    }
    if (!tour_) return true;
  }
  switch (tour_->phase()) {
    case Tour::Phase::Begin:
      // A worker that was started answers first; a tour of recordings needs none.
      if (pictures_ && parts_.runs.link.started() && !parts_.runs.link.hello()) return changed;
      begin_step();
      return true;
    case Tour::Phase::Wait:
      return wait_for_result() || changed;
    case Tour::Phase::Show:
      if (run_was_replaced()) {
        tour_->show(now_seconds(), "another run is on screen");
        return true;
      }
      return pictures_ ? true : tour_->advance(now_seconds()) || changed;
    case Tour::Phase::Done:
      break;
  }
  return changed;
}

bool TourController::wait_for_result() {
  SessionState& state = parts_.runs.state;
  if (const auto& why = state.last_error.empty() ? state.file_error : state.last_error;
      !why.empty()) {
    fail_step(why);
    return true;
  }
  const std::string recording = recording_of(tour_->step());
  const bool arrived = recording.empty() ? state.shown() != nullptr && !state.from_file() &&
                                               state.shown()->result.id >= tour_->awaited_run()
                                         : state.path_on_screen() == recording;
  if (!arrived) return false;
  if (tour_->step().run >= 0) state.select_recorded(static_cast<std::size_t>(tour_->step().run));
  show_step();
  return true;
}

bool TourController::run_was_replaced() const {
  return to_user() && tour_->phase() == Tour::Phase::Show && tour_->trouble().empty() &&
         parts_.runs.state.shown() != run_of_step_;
}

void TourController::toggle() {
  if (tour_->trouble().empty()) return tour_->toggle();
  tour_->play();
  begin_step();
}

void TourController::begin_step() {
  const TourStep& step = tour_->step();
  SessionState& state = parts_.runs.state;
  if (pictures_) {
    parts_.notices.clear();
    set_deadline(step.seconds);
  }
  state.last_error.clear();
  state.file_error.clear();
  commands_.push_back(ShowPage{step.page, step.view});
  if (const std::string recording = recording_of(step); !recording.empty()) {
    tour_->wait_for(0);
    if (state.path_on_screen() != recording) parts_.files.open_recording(recording);
  } else if (step.request_patch.empty()) {
    show_step();
  } else {
    begin_run();
  }
}

void TourController::begin_run() {
  RunsController& runs = parts_.runs;
  SessionState& state = runs.state;
  auto request = request_of_step(tour_->script(), tour_->index(), parts_.presets);
  if (!request.ok()) return fail_step(request.error().message);
  state.requested = std::move(request).value();
  state.back_to_live();
  // Back to a step that has run: its result is still there. A picture always shows a new run.
  const std::vector<SessionState::Run>& known = state.live_results().runs;
  const auto same = std::find_if(known.rbegin(), known.rend(), [&](const SessionState::Run& run) {
    return run->request == state.requested;
  });
  if (same != known.rend() && !pictures_) {
    state.select_run(static_cast<std::size_t>(known.rend() - same) - 1);
    return show_step();
  }
  if (!runs.link.started() || runs.link.status().state == LinkState::Lost) {
    return fail_step("This step runs live and needs a worker");
  }
  const std::string& library = state.requested.cublaslt_library;
  parts_.libraries.consent.named(library, tour_->script().path);
  if (!parts_.libraries.may_load(library, runs.link, RepeatTourStep{})) {
    if (pictures_) return;  // refused: tick() says so
    return fail_step("it names a library, and waits for your answer above");
  }
  runs.submit();
  // 0: the worker was lost this very moment.
  if (runs.link.newest_id() == 0) return fail_step("This step runs live and needs a worker");
  tour_->wait_for(runs.link.newest_id());
}

void TourController::show_step() {
  const std::optional<Selection>& selection = tour_->step().selection;
  commands_.push_back(Select{selection.value_or(Selection{})});
  parts_.runs.state.expert = selection ? selection->expert : -1;
  if (pictures_) {
    pictures_->frames = 0;
    set_deadline(tour_->step().seconds);
  }
  run_of_step_ = parts_.runs.state.shown();
  tour_->show(now_seconds());
}

void TourController::fail_step(const std::string& why) {
  pictures_ ? fail(why) : tour_->show(now_seconds(), why);
}

void TourController::repeat_step() {
  if (to_user()) begin_step();
}

void TourController::library_refused() {
  if (to_user() && tour_->phase() == Tour::Phase::Show && !tour_->trouble().empty()) {
    tour_->show(0, "the library that it names was refused");
  }
}

void TourController::fail(const std::string& why) {
  end_ = End{.complete = false, .text = why};
  tour_.reset();
  parts_.files.close_recording();
}

void TourController::set_deadline(double seconds) {
  pictures_->deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(seconds));
}

std::string TourController::overdue() const {
  if (tour_->phase() == Tour::Phase::Done || Clock::now() < pictures_->deadline) return {};
  if (parts_.runs.link.started() && !parts_.runs.link.hello()) {
    return "the worker did not answer in time";
  }
  return fmt::format("step {} did not finish within {:.0f} s", tour_->step().name,
                     tour_->step().seconds);
}

void TourController::frame_drawn(const PageState& on_screen) {
  on_screen_ = on_screen;
  if (pictures_ && tour_ && tour_->phase() == Tour::Phase::Show) ++pictures_->frames;
}

std::optional<std::string> TourController::wanted_picture() const {
  if (!pictures_ || !tour_ || tour_->phase() != Tour::Phase::Show ||
      pictures_->frames < kSettleFrames) {
    return std::nullopt;
  }
  return picture_path(tour_->index());
}

std::string TourController::picture_path(std::size_t index) const {
  // The name comes from a file and never becomes a path. Steps with one name must not share a
  // picture.
  const auto& steps = tour_->script().steps;
  const std::string name = engine::file_name_of(steps[index].name);
  const auto before = steps.begin() + static_cast<std::ptrdiff_t>(index);
  const auto same = std::count_if(steps.begin(), before, [&](const TourStep& one) {
    return engine::file_name_of(one.name) == name;
  });
  return pictures_->folder + "/" + name + (same == 0 ? "" : fmt::format("-{}", same + 1)) + ".png";
}

engine::Status TourController::write_page() const {
  const TourScript& script = tour_->script();
  std::vector<TourPicture> pictures;
  for (std::size_t i = 0; i < script.steps.size(); ++i) {
    const TourStep& step = script.steps[i];
    pictures.push_back({.title = step.title.empty() ? step.name : step.title,
                        .caption = step.caption,
                        .path = picture_path(i)});
  }
  ENGINE_ASSIGN(const std::string page, tour_page(script.title, pictures));
  ENGINE_ASSIGN(profiling::ReplacedFile file,
                profiling::ReplacedFile::create(pictures_->folder + "/tour.html"));
  file.write(page);
  return file.commit();
}

void TourController::picture_written(const std::string& problem) {
  if (!problem.empty()) return fail(problem);
  tour_->finish_step();
  set_deadline(tour_->step().seconds);
  if (tour_->phase() != Tour::Phase::Done) return;
  // Waits until the last run is in the file.
  parts_.files.close_recording();
  const engine::Status page = write_page();
  if (!page.ok()) return fail(page.error().message);
  tour_.reset();
  end_ = End{.complete = true, .text = parts_.files.recording_path()};
}

void TourController::add_step() {
  const SessionState& state = parts_.runs.state;
  TourStep step;
  step.name = fmt::format("{:02}-step", draft.steps.size() + 1);
  step.caption = std::exchange(draft.words, {});
  step.page = on_screen_.page;
  step.view = on_screen_.view;
  if (state.from_file()) {
    const fs::path path = state.session_path();
    const bool shipped = path == shipped_path(path.filename().string());
    step.recording = shipped ? path.filename().string() : fs::absolute(path).string();
    step.run = static_cast<int>(state.recorded_index());
  } else {
    const SessionState::Run run = state.shown();
    step.request_patch = engine::to_json_text(run == nullptr ? state.requested : run->request);
  }
  step.selection = on_screen_.selection;
  step.selection->expert = state.expert;
  draft.steps.push_back(std::move(step));
}

void TourController::save_draft() {
  const std::string path = parts_.files.dated_path("tour", ".json");
  parts_.files.save_text(path, tour_text({.title = "Kept tour", .steps = draft.steps}),
                         "Tour saved: " + engine::shown_path(path));
  drop_draft();
}

}  // namespace app

#include "app/controllers/workbench.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "app/protocol/shipped_recordings.h"
#include "engine/input/presets.h"
#include "engine/model/backend_traits.h"
#include "engine/model/path_text.h"

namespace app {
namespace {

constexpr const char* kRecordedRequest =
    "The rail shows a recorded request: take it over with Use as my request, or go back to your "
    "runs";

constexpr std::size_t kExampleRun = 0;

}  // namespace

Workbench::Workbench(Options opened, const std::function<void()>& wake, RememberedFiles& remembered,
                     RememberedMachines& machines)
    : options(std::move(opened)),
      libraries(wake),
      runs(options.worker, wake, libraries, notices, options.no_worker),
      machine(options.worker, options.machine, wake, machines),
      files(wake, remembered, notices),
      doctor(wake),
      attach(wake, options.attach_library),
      tours({.runs = runs,
             .files = files,
             .libraries = libraries,
             .notices = notices,
             .presets = options.presets},
            wake),
      fetcher_(wake) {
  for (const std::string& library : options.allowed_libraries) libraries.consent.allow(library);
  runs.link.allow_libraries(libraries.consent.allowed());
}

void Workbench::begin_with(const engine::RunRequest& request, const std::string& file, bool run) {
  runs.state.requested = named(request);
  libraries.consent.named(request.cublaslt_library, file);
  runs.keep_backend();
  if (run) runs.run_at_greeting();
}

void Workbench::continue_with(const engine::RunRequest& request, const std::string& file,
                              bool live) {
  runs.state.requested = named(request);
  runs.state.live = live;
  libraries.consent.named(request.cublaslt_library, file);
  runs.remember_backend();
}

void Workbench::use_request(const UseRequest& order) {
  runs.state.back_to_live();
  libraries.consent.named(order.request.cublaslt_library, order.file);
  engine::RunRequest request = order.request;
  const engine::Status named = engine::reconcile_preset_name(options.presets, request);
  if (!named.ok()) request.shape.preset.clear();
  runs.choose(request);
  notices.set_status("The request is now that of " + engine::shown_path(order.file) +
                     (named.ok() ? "" : ", without its name: " + named.error().message));
}

void Workbench::open_file(const std::string& path) {
  const FileKind kind = file_kind(path);
  const std::optional<std::string> there = path_on(runs.link.host(), path);
  if (there && kind != FileKind::Tensor && kind != FileKind::Unknown) return fetch_file(*there);
  files.remember_folder_of(path);
  // The list of recent files is of this machine.
  if (open_here(path) && !there) files.remember_file(path);
}

bool Workbench::open_here(const std::string& path) {
  switch (file_kind(path)) {
    case FileKind::Recording:
      files.open_recording(path);
      break;
    case FileKind::Graph:
      open_graph(path);
      break;
    case FileKind::Tour:
      tours.play(path);
      break;
    case FileKind::Tensor:
      // As for a request: what a tour or a recording has put in the rail is not the user's.
      tours.stop();
      runs.state.back_to_live();
      runs.use_tensor({.path = path, .opened = true});
      break;
    case FileKind::Unknown:
      notices.add(
          Severity::Warn,
          engine::shown_path(path) +
              " cannot be opened: supported are recordings (.session), captured graphs "
              "(.dot, .gv), tensors and recorded routing (.npy, .npz, .safetensors), tours, "
              "requests and "
              "splits (.json) and "
              "request logs (.jsonl). To open the files of a folder, drop them one by one");
      return false;
  }
  return true;
}

bool Workbench::open_example() {
  const RecordedPlace example{.path = kExampleRecording.path(), .run = kExampleRun};
  std::error_code error;
  if (!std::filesystem::exists(example.path, error)) return false;
  returning_to_ = example;
  files.open_recording(example.path);
  notices.set_status(
      "An example is open: a DeepSeek-V3 expert layer, recorded on an H200. Back to my runs shows "
      "what runs here.");
  return true;
}

void Workbench::examine(const VisitOrder& order) {
  if (!libraries.may_load(order.subject.request.cublaslt_library, runs.link, order)) return;
  // A visit is kept beside the live runs: a recording on screen would hide it.
  runs.state.back_to_live();
  doctor.visit(order, runs.link.place(), libraries.consent.allowed());
}

void Workbench::use_library(const std::string& path) {
  // The user ordered the fetch.
  libraries.consent.allow(path);
  runs.link.allow_libraries(libraries.consent.allowed());
  engine::RunRequest request = runs.state.requested;
  request.cublaslt_library = path;
  runs.show(request);
}

void Workbench::answer_library(bool yes) {
  const LibraryConsent::Question* question = library_question();
  if (question == nullptr) return;
  const std::string library = question->library;
  std::vector<Command> waited = libraries.consent.answer(yes);
  if (yes) {
    runs.link.allow_libraries(libraries.consent.allowed());
    std::ranges::move(waited, std::back_inserter(commands_));
    return;
  }
  if (runs.state.requested.cublaslt_library == library) {
    engine::RunRequest request = runs.state.requested;
    request.cublaslt_library.clear();
    runs.edit(request, 0);
  }
  tours.library_refused();
  notices.set_status("Refused: " + library +
                     " is not loaded; the request now uses the worker's library");
}

void Workbench::set_notes(const std::vector<profiling::TimeNote>& notes) {
  const SessionState::Run run = runs.state.shown();
  if (run == nullptr) return;
  runs.state.set_notes(run, notes);
  files.save_notes(runs.state, notes);
}

void Workbench::name_run(const std::string& name) {
  const SessionState::Run run = runs.state.shown();
  if (run == nullptr || name == runs.state.names.of(run)) return;
  runs.state.names.give(run, name);
  files.save_name(runs.state, name);
}

std::string Workbench::change_refusal() const {
  return runs.state.shows_recorded_request() ? kRecordedRequest : "";
}

bool Workbench::refuse_change() {
  const std::string why = change_refusal();
  if (!why.empty()) notices.set_status(why);
  return !why.empty();
}

void Workbench::edit(const engine::RunRequest& request, std::uint64_t gesture, bool run) {
  if (refuse_change()) return;
  choose_pace(request);
  runs.edit(named(request), gesture, run);
  if (const std::string why = run ? refusal(Action::Run) : ""; !why.empty()) {
    notices.set_status(why);
  }
}

engine::RunRequest Workbench::named(engine::RunRequest request) const {
  if (!engine::reconcile_preset_name(options.presets, request).ok()) request.shape.preset.clear();
  return request;
}

void Workbench::choose_pace(const engine::RunRequest& request) {
  const std::string& name = request.shape.preset;
  if (name.empty() || name == runs.state.requested.shape.preset) return;
  const auto preset = std::ranges::find(options.presets, name, &engine::ShapePreset::name);
  if (preset == options.presets.end()) return;
  runs.can_follow(preset->laptop || engine::traits_of(request.backend).device);
}

void Workbench::use_tensor(const UseTensor& file) {
  if (!refuse_change()) runs.use_tensor(file);
}

void Workbench::use_dump(const UseDump& dump) {
  // As for a file that is opened: what a tour or a recording has put in the rail is not the user's.
  tours.stop();
  runs.state.back_to_live();
  runs.use_dump(dump.parts);
}

void Workbench::choose(const engine::RunRequest& request) {
  if (refuse_change()) return;
  choose_pace(request);
  runs.choose(named(request));
}

void Workbench::undo(bool back) {
  const std::optional<RecordedPlace> left = runs.undo(back);
  if (!left) return;
  if (runs.state.session_path() == left->path) return runs.state.select_recorded(left->run);
  returning_to_ = left;
  files.open_recording(left->path);
}

bool Workbench::act(Action action) {
  SessionState& state = runs.state;
  switch (action) {
    case Action::Run:
      runs.submit();
      return true;
    case Action::Cancel:
      runs.cancel();
      return true;
    case Action::ReplaceWorker:
      runs.replace_worker();
      return true;
    case Action::ToggleLive:
      runs.set_live(!state.live);
      return true;
    case Action::Undo:
    case Action::Redo:
      undo(action == Action::Undo);
      return true;
    case Action::PreviousRun:
      state.select_run(state.run_index() - 1);
      return true;
    case Action::NextRun:
      state.select_run(state.run_index() + 1);
      return true;
    case Action::BackToLive:
      tours.stop(TourController::After::MyRuns);
      runs.back_to_live();
      notices.set_status("");  // it was about the recording
      return true;
    case Action::UseRecordedRequest:
      runs.take_over();
      return true;
    case Action::CloseRecording:
      tours.stop(TourController::After::MyRuns);
      runs.back_to_live();
      state.close_recording();
      return true;
    case Action::OpenExample:
      if (open_example()) {
        commands_.push_back(ShowPage{Page::Numerics, "layer"});
      } else {
        notices.add(Severity::Warn, "The example is not at " + kExampleRecording.path());
      }
      return true;
    case Action::ToggleRecording:
      if (files.recording()) record_attached();
      files.toggle_recording();
      return true;
    case Action::AllowLibrary:
    case Action::RefuseLibrary:
      answer_library(action == Action::AllowLibrary);
      return true;
    case Action::KeepTour:
      tours.draft.open = true;
      return true;
    case Action::TourPause:
      tours.toggle();
      return true;
    case Action::TourBack:
      tours.back();
      return true;
    case Action::TourNext:
      tours.next();
      return true;
    case Action::TourStop:
      tours.stop();
      return true;
    default:
      return act_on_machine(action) || act_on_attach(action);
  }
}

void Workbench::close_front() {
  if (library_question() != nullptr) {
    answer_library(false);
  } else if (runs.long_run() != nullptr) {
    runs.answer(LongRunAnswer::Drop);
  } else if (tours.to_user()) {
    tours.stop();
  } else {
    notices.clear_read();
  }
}

std::string Workbench::refusal(Action action) const {
  const SessionState& state = runs.state;
  const LinkStatus link = runs.link.status();
  const Tour* tour = tours.to_user() ? tours.tour() : nullptr;
  constexpr const char* kNoTour = "No tour is on screen";
  const std::string leave = "go back to your runs first";
  switch (action) {
    case Action::ToggleLive:
      return change_refusal();
    case Action::Run: {
      if (state.shows_recorded_request()) return kRecordedRequest;
      const engine::Status status = engine::validate(state.requested);
      if (!status.ok()) return status.error().message;
      return link.state == LinkState::Lost ? "There is no worker: " + link.reason : "";
    }
    case Action::Cancel:
      return runs.link.waiting() || runs.batch_running() || runs.comparing() ? ""
                                                                             : "Nothing is running";
    case Action::ReplaceWorker:
    case Action::ChooseMachine:
    case Action::ConnectAgain:
    case Action::CancelConnecting:
    case Action::UseThisMachine:
      return machine_refusal(action);
    case Action::Undo:
      if (state.shows_recorded_request()) return "Undo changes your own request: " + leave;
      return runs.history().undo_depth() > 0 ? "" : "Nothing to undo: no control was changed yet";
    case Action::Redo:
      if (state.shows_recorded_request() && !runs.history().next_from()) {
        return "Redo changes your own request: " + leave;
      }
      return runs.history().redo_depth() > 0 ? "" : "Nothing to redo";
    case Action::PreviousRun:
      return state.run_index() > 0 ? "" : "There is no run before this one";
    case Action::NextRun:
      return state.run_index() + 1 < state.runs().size() ? "" : "There is no run after this one";
    case Action::BackToLive:
      return state.from_file() ? "" : "No recording is on screen";
    case Action::UseRecordedRequest:
      return state.shows_recorded_request() ? "" : "No recorded request is on screen";
    case Action::CloseRecording:
      return state.session_path().empty() ? "No recording is open" : "";
    case Action::SaveSession:
      return state.live_count() == 0 ? "No run of this window to save yet" : "";
    case Action::ExportTrace:
    case Action::ExportRecords:
      return state.shown() == nullptr || state.shown()->activity.records.empty()
                 ? "The run on screen has no records"
                 : "";
    case Action::ExportPage:
      return state.results().runs.empty() && state.results().comparisons.empty() &&
                     state.results().visits.empty()
                 ? "No run, comparison or visit to the doctor to show yet"
                 : "";
    case Action::PresentNext:
    case Action::PresentPrevious:
    case Action::PresentFirst:
    case Action::PresentLast:
      return presentation.on() ? "" : "Nothing is presented: F11 begins";
    case Action::RecordElsewhere:
      return files.recording() ? "" : "Nothing is being recorded";
    case Action::AllowLibrary:
    case Action::RefuseLibrary:
      return library_question() != nullptr ? "" : "No file asks for a library";
    case Action::TourPause:
    case Action::TourStop:
      return tour != nullptr ? "" : kNoTour;
    case Action::TourBack:
      return tour == nullptr ? kNoTour : tour->at_first() ? "This is the first step" : "";
    case Action::TourNext:
      return tour == nullptr ? kNoTour : tour->at_last() ? "This is the last step" : "";
    default:
      return attach_refusal(action);
  }
}

SessionView Workbench::view() const {
  SessionView now = runs.state.view();
  now.link = runs.link.status();
  now.host = runs.link.host();
  now.no_worker = options.no_worker;
  const engine::Status status = engine::validate(runs.state.requested);
  now.blocked = status.ok() ? runs.state.last_error : status.error().message;
  now.hello = runs.link.hello();
  now.comparing = runs.comparing();
  now.compares_steps = runs.compares_steps();
  now.batch = runs.batch();
  now.doctor = doctor.state();
  now.doctor.attached = attached_;
  now.library = libraries.newest_fetch();
  return now;
}

void Workbench::warn_if_incomplete(const std::string& path, const std::string& doubt) {
  if (doubt.empty()) return;
  const std::string name = std::filesystem::path(path).filename().string();
  notices.add(Severity::Bad, fmt::format("{} may be incomplete. {}",
                                         name.empty() ? "This recording" : name, doubt));
}

bool Workbench::take_recordings() {
  bool changed = false;
  if (auto loaded = files.take_recording()) {
    changed = true;
    const auto back_to = std::exchange(returning_to_, std::nullopt);
    if (loaded->ok()) {
      profiling::Session session = std::move(*loaded).value();
      libraries.note(session);
      warn_if_incomplete(session.path, session.doubt);
      runs.state.file_error.clear();
      const bool returns = back_to && back_to->path == session.path;
      runs.state.open_recording(std::move(session), returns ? back_to->run : 0);
      if (runs.state.results().runs.empty() && !runs.state.results().visits.empty()) {
        commands_.push_back(ShowPage{Page::Graphs});
      }
    } else {
      runs.state.file_error = loaded->error().message;
      notices.add(Severity::Bad, "Not opened: " + loaded->error().message);
    }
  }
  if (auto loaded = files.take_second()) {
    changed = true;
    if (!loaded->ok()) {
      notices.add(Severity::Bad, "Not opened: " + loaded->error().message);
    } else if (loaded->value().runs.empty()) {
      notices.add(Severity::Warn,
                  engine::shown_path(loaded->value().path) + " holds no run to compare with");
    } else {
      libraries.note(loaded->value());
      warn_if_incomplete(loaded->value().path, loaded->value().doubt);
      runs.state.open_second(std::move(*loaded).value());
    }
  }
  return changed;
}

bool Workbench::tick() {
  // Not short-circuited: each of them must run.
  bool changed = runs.tick();
  if (const auto unreadable = runs.take_unreadable()) files.forget_file(*unreadable);
  changed = tick_machine() || changed;
  changed = tick_fetch() || changed;
  while (libraries.consent.question() != nullptr && runs.link.hello() &&
         has_library(*runs.link.hello(), libraries.consent.question()->library)) {
    answer_library(true);  // it is the worker's own
  }
  for (Recorder::Record& result : runs.take_results()) files.record(std::move(result));
  changed = take_recordings() || changed;
  changed = files.tick() || changed;
  changed = tick_doctor() || changed;
  changed = tick_attach() || changed;
  changed = libraries.tick() || changed;
  changed = tours.tick() || changed;
  notices.expire();
  std::ranges::move(tours.take_commands(), std::back_inserter(commands_));
  changed = notices.take_changed() || changed;
  return changed || !commands_.empty();
}

}  // namespace app

// The shell's part of a tour that a person watches: carries out its steps, and puts everything back
// at the end.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <utility>

#include "app/gui/controls/widgets.h"
#include "app/gui/shell/shell.h"
#include "app/protocol/paths.h"
#include "app/protocol/request_json.h"

namespace app {
namespace {

namespace fs = std::filesystem;

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A path, or the name of a recording that ships.
std::string recording_path_of(const TourStep& step) {
  if (step.recording.empty() && !step.open_sample) return {};
  const std::string shipped = assets_folder() + "/sessions/";
  if (step.recording.empty()) return shipped + "h200.session";
  return fs::path(step.recording).has_parent_path() ? step.recording : shipped + step.recording;
}

int graphs_view_of(const std::string& name) {
  const auto found = std::find(kGraphsViews.begin(), kGraphsViews.end(), name);
  return found == kGraphsViews.end() ? -1 : static_cast<int>(found - kGraphsViews.begin());
}

}  // namespace

void Shell::find_tours() {
  tour_finder_.start([folder = assets_folder() + "/tours"] {
    std::vector<FoundTour> found;
    for (const FolderEntry& entry : list_folder(folder, {".json", ".jsonl"}).entries) {
      if (entry.folder) continue;
      const std::string path = folder + "/" + entry.name;
      const auto script = load_tour(path);
      found.push_back(script.ok() ? FoundTour(NamedTour{script.value().title, path})
                                  : FoundTour(script.error()));
    }
    return found;
  });
}

void Shell::open_tour(const std::string& path) {
  tour_loader_.start([path] { return load_tour(path); });
}

void Shell::begin_player(TourScript script) {
  if (player_) end_player();
  player_.emplace(std::move(script), TourPlayer::Own{.request = state_.requested,
                                                     .live = state_.live,
                                                     .recipes = state_.recipes,
                                                     .workspace = state_.workspace,
                                                     .recording = state_.session_path()});
  // Every run of a tour is one of its steps.
  state_.live = false;
  says_.clear();
  notices_.clear();
}

void Shell::end_player() {
  if (!player_) return;
  const TourPlayer::Own own = player_->own();
  player_.reset();
  consent_.withdraw("tour");
  state_.workspace = own.workspace;
  state_.recipes = own.recipes;
  state_.live = own.live;
  if (own.recording.empty()) {
    state_.back_to_live();
  } else if (own.recording != state_.session_path()) {
    open_recording(own.recording);
  }
  const bool changed = state_.requested != own.request;
  state_.requested = own.request;
  rail_.follow(own.request);
  if (changed && state_.live && own.recording.empty()) submit();
  says_ = "The tour has ended: the rail is as it was before";
}

bool Shell::tick_player() {
  if (const auto found = tour_finder_.take()) {
    for (const FoundTour& tour : *found) {
      if (tour.ok()) {
        tours_.push_back(tour.value());
      } else {
        notices_.add(Severity::Warn, "A tour cannot be played: " + tour.error().message);
      }
    }
    return true;
  }
  if (const auto script = tour_loader_.take()) {
    if (script->ok()) {
      begin_player(script->value());
    } else {
      notices_.add(Severity::Bad, "Not played: " + script->error().message);
    }
    return true;
  }
  if (!player_) return false;
  const double now = now_seconds();
  switch (player_->phase()) {
    case TourPlayer::Phase::Begin:
      begin_player_step();
      return true;
    case TourPlayer::Phase::Wait: {
      if (!state_.last_error.empty()) {
        player_->shown(now, state_.last_error);
        return true;
      }
      const std::string recording = recording_path_of(player_->step());
      const bool arrived = recording.empty()
                               ? state_.shown() != nullptr && !state_.from_file() &&
                                     state_.shown()->result.id >= player_->awaited_run()
                               : state_.session_path() == recording;
      if (!arrived) return false;
      if (player_->step().run >= 0) {
        state_.select_run(static_cast<std::size_t>(player_->step().run));
      }
      show_player_step();
      return true;
    }
    case TourPlayer::Phase::Show:
      return player_->advance(now);
  }
  return false;
}

engine::Result<engine::RunRequest> Shell::request_of_step(std::size_t index) const {
  // From the start each time, so that Back gives what was there before.
  engine::RunRequest request = player_->own().request;
  for (std::size_t i = 0; i <= index; ++i) {
    const TourStep& step = player_->script().steps[i];
    if (step.request_patch.empty()) continue;
    auto patched = patched_request(request, step, rail_.presets());
    if (!patched.ok()) return patched.error();
    request = std::move(patched).value();
  }
  return request;
}

void Shell::show_player_step() {
  asked_selection_ = player_->step().selection;
  state_.expert = asked_selection_ ? asked_selection_->expert : -1;
  player_->shown(now_seconds());
}

void Shell::begin_player_step() {
  const TourStep& step = player_->step();
  asked_selection_.reset();
  state_.workspace = step.workspace;
  state_.recipes = step.view == "recipes";
  state_.last_error.clear();
  asked_graphs_view_ = graphs_view_of(step.view);
  if (const std::string recording = recording_path_of(step); !recording.empty()) {
    player_->waits_for(0);
    if (state_.session_path() != recording) {
      loader_.start([recording] { return profiling::open_session(recording, request_codec()); });
    }
    return;
  }
  if (step.request_patch.empty()) return show_player_step();
  auto request = request_of_step(player_->index());
  if (!request.ok()) return player_->shown(now_seconds(), request.error().message);
  state_.requested = std::move(request).value();
  rail_.follow(state_.requested);
  state_.back_to_live();
  // Back to a step that has run: its result is still at hand.
  const auto& runs = state_.live_runs();
  const auto known = std::find_if(runs.rbegin(), runs.rend(), [&](const SessionState::Run& run) {
    return run->request == state_.requested;
  });
  if (known != runs.rend()) {
    state_.select_run(static_cast<std::size_t>(runs.rend() - known) - 1);
    return show_player_step();
  }
  if (!link_.started() || link_.status().state == LinkState::Lost) {
    return player_->shown(now_seconds(), "This step is run live and needs a worker");
  }
  consent_.named(state_.requested.cublaslt_library, player_->script().path);
  if (!may_load(state_.requested.cublaslt_library, "tour", [this] {
        if (player_) begin_player_step();
      })) {
    // It must not go on by itself before the answer.
    if (player_->playing()) player_->toggle();
    return player_->shown(now_seconds(), "it names a library, and waits for your answer above");
  }
  submit();
  player_->waits_for(link_.newest_id());
}

void Shell::draw_player(const PanelContext& context) {
  const Theme& theme = context.theme;
  const TourStep& step = player_->step();
  const std::size_t count = player_->script().steps.size();
  std::string text =
      fmt::format("{}  ·  {} of {}{}\n{}", player_->script().title, player_->index() + 1, count,
                  step.title.empty() ? "" : "  ·  " + step.title, step.caption);
  if (player_->phase() == TourPlayer::Phase::Wait) text += "\nWorking on it ...";
  if (!player_->trouble().empty()) text += "\nNot shown: " + player_->trouble();
  const float width = theme.px(62);
  const Banner banner(context, "tour.caption", theme.colors.accent, text,
                      4 * width + 3 * theme.px(kGapSmall));
  const auto button = [&](Action action, const char* id, const char* label, const char* tooltip) {
    const std::string why = refusal(action);
    if (controls::button(
            context, id, label,
            {.enabled = why.empty(), .reason = why, .tooltip = tooltip, .width = width})) {
      tour_wish_ = action;
    }
    ImGui::SameLine(0, theme.px(kGapSmall));
  };
  button(Action::TourBack, "tour.back", "Back", "The step before (left arrow)");
  button(Action::TourPause, "tour.pause", player_->playing() ? "Pause" : "Play",
         "Let it go on by itself, or stay (Space)");
  button(Action::TourNext, "tour.next", "Next", "The next step (right arrow)");
  button(Action::TourStop, "tour.stop", "Stop", "Back to what was here before the tour (Esc)");
  controls::record(context, "tour.state", "tour", "text",
                   fmt::format("step={};of={};playing={};shown={};trouble={}", player_->index() + 1,
                               count, player_->playing(),
                               player_->phase() == TourPlayer::Phase::Show, player_->trouble()),
                   ImGui::GetWindowPos(), ImGui::GetWindowPos());
}

void Shell::act_on_tour(Action action) {
  switch (action) {
    case Action::TourBack:
      player_->back();
      return;
    case Action::TourPause:
      player_->toggle();
      return;
    case Action::TourNext:
      player_->next();
      return;
    default:
      return end_player();
  }
}

}  // namespace app

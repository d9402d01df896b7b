// What each action of the table does, when it cannot be had, and the list that the palette shows.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "app/gui/shell/request_actions.h"
#include "app/gui/shell/shell.h"
#include "engine/model/backend_traits.h"
#include "profiling/hazards/model/gallery_catalogue.h"

namespace app {

void Shell::act(Action action) {
  if (const std::string why = refusal(action); !why.empty()) {
    says_ = why;
    return;
  }
  switch (action) {
    case Action::Run:
      return submit();
    case Action::Cancel:
      return cancel();
    case Action::ReplaceWorker:
      return replace_worker();
    case Action::ToggleLive:
      state_.live = !state_.live;
      if (state_.live) submit();
      return;
    case Action::Undo:
      return undo(true);
    case Action::Redo:
      return undo(false);
    case Action::PreviousRun:
      return state_.select_run(state_.run_index() - 1);
    case Action::NextRun:
      return state_.select_run(state_.run_index() + 1);
    case Action::BackToLive:
      return state_.back_to_live();
    case Action::OpenRecording:
      return files_.open(FilePurpose::OpenRecording, settings_.folder, "");
    case Action::OpenSample:
      return open_sample();
    case Action::SaveSession:
      return files_.open(
          FilePurpose::SaveSession, settings_.folder,
          std::filesystem::path(dated_path("expertscope", ".session")).filename().string());
    case Action::ExportTrace:
    case Action::ExportRecords:
      // The range is the timeline's, which answers when it is drawn next.
      state_.workspace = Workspace::Performance;
      (action == Action::ExportTrace ? asked_keys_.export_trace : asked_keys_.export_records) =
          true;
      return;
    case Action::ToggleRecording:
      return toggle_recording();
    case Action::RecordElsewhere:
      return ask_record_elsewhere();
    case Action::AllowLibrary:
      return answer_library(true);
    case Action::RefuseLibrary:
      return answer_library(false);
    case Action::KeepTour:
      return tour_keeper_.open();
    case Action::TourPause:
    case Action::TourBack:
    case Action::TourNext:
    case Action::TourStop:
      return act_on_tour(action);
    default:
      return act_on_view(action);
  }
}

void Shell::act_on_view(Action action) {
  switch (action) {
    case Action::ShowPerformance:
      state_.workspace = Workspace::Performance;
      return;
    case Action::ShowNumerics:
      state_.workspace = Workspace::Numerics;
      return;
    case Action::ShowGraphs:
      state_.workspace = Workspace::Graphs;
      return;
    case Action::ShowCompare:
      state_.workspace = Workspace::Compare;
      return;
    case Action::ShowRecipes:
      state_.recipes = state_.workspace != Workspace::Numerics || !state_.recipes;
      state_.workspace = Workspace::Numerics;
      return;
    case Action::ToggleRail:
      settings_.rail_hidden = !settings_.rail_hidden;
      return;
    case Action::LargerText:
    case Action::SmallerText: {
      const float step = action == Action::LargerText ? 0.1F : -0.1F;
      settings_.text_scale =
          std::clamp(std::round((settings_.text_scale + step) * 10.0F) / 10.0F, 0.8F, 2.0F);
      return;
    }
    case Action::ToggleTheme:
      settings_.theme = settings_.theme == ThemeKind::Dark ? ThemeKind::Light : ThemeKind::Dark;
      return;
    case Action::Screenshot:
      screenshot_wanted_ = true;
      return;
    case Action::Palette:
      if (palette_.is_open()) return palette_.close();
      help_ = false;
      recent_.check(settings_.recent);
      return palette_.open();
    case Action::Help:
      help_ = !help_;
      return;
    case Action::Close:
      return close_front();
    case Action::Quit:
      exit_code_ = 0;
      return;
    default:
      return;
  }
}

void Shell::close_front() {
  says_.clear();
  if (palette_.is_open()) {
    palette_.close();
  } else if (files_.is_open()) {
    files_.close();
  } else if (help_) {
    help_ = false;
  } else if (library_question() != nullptr) {
    answer_library(false);
  } else if (player_) {
    end_player();
  } else {
    notices_.clear();
  }
}

std::string Shell::refusal(Action action) const {
  const LinkStatus link = link_.status();
  switch (action) {
    case Action::Run: {
      const engine::Status status = engine::validate(state_.requested);
      if (!status.ok()) return status.error().message;
      return link.state == LinkState::Lost ? "There is no worker: " + link.reason : "";
    }
    case Action::Cancel:
      return link_.waiting() ? "" : "Nothing is running";
    case Action::ReplaceWorker:
      return options_.no_worker ? "This window was opened without a worker" : "";
    case Action::Undo:
      return history_.undo_depth() > 0 ? "" : "Nothing to undo: no control was changed yet";
    case Action::Redo:
      return history_.redo_depth() > 0 ? "" : "Nothing to redo";
    case Action::PreviousRun:
      return state_.run_index() > 0 ? "" : "There is no run before this one";
    case Action::NextRun:
      return state_.run_index() + 1 < state_.runs().size() ? "" : "There is no run after this one";
    case Action::BackToLive:
      return state_.from_file() ? "" : "No recording is open";
    case Action::SaveSession:
      return state_.live_runs().empty() && state_.live_comparisons().empty() &&
                     state_.live_visits().empty() && state_.live_histories().empty()
                 ? "No run of this window to save yet"
                 : "";
    case Action::ExportTrace:
    case Action::ExportRecords:
      return state_.shown() == nullptr || state_.shown()->activity.records.empty()
                 ? "No run with records is on screen"
                 : "";
    case Action::RecordElsewhere:
      return recorder_ != nullptr ? "" : "Nothing is being recorded";
    case Action::AllowLibrary:
    case Action::RefuseLibrary:
      return library_question() != nullptr ? "" : "No file asks for a library";
    case Action::TourPause:
    case Action::TourStop:
      return player_ ? "" : "No tour is on screen";
    case Action::TourBack:
      if (!player_) return "No tour is on screen";
      return player_->index() > 0 ? "" : "This is the first step";
    case Action::TourNext:
      if (!player_) return "No tour is on screen";
      return player_->index() + 1 < player_->script().steps.size() ? "" : "This is the last step";
    default:
      return "";
  }
}

void Shell::undo(bool back) {
  const std::optional<RequestHistory::Step> step = back ? history_.undo() : history_.redo();
  if (!step) return;
  says_ = (back ? "Undone: " : "Redone: ") + step->words;
  show_request(step->request);
}

void Shell::show_request(const engine::RunRequest& request) {
  const bool other_library = request.cublaslt_library != state_.requested.cublaslt_library;
  state_.requested = request;
  rail_.follow(request);
  // One process can load only one cuBLASLt.
  if (other_library) start_worker(request.cublaslt_library);
  if (state_.live) submit();
}

std::vector<PaletteEntry> Shell::palette_entries() {
  std::vector<PaletteEntry> entries;
  for (const ActionRow& row : action_table()) {
    if (row.action == Action::Palette || row.action == Action::Close) continue;
    entries.push_back({.id = row.id,
                       .group = row.group,
                       .title = row.title,
                       .keys = row.keys,
                       .refusal = refusal(row.action),
                       .act = [this, action = row.action] { act(action); }});
  }
  for (RequestAction& one : request_actions(state_.requested, rail_.presets())) {
    std::string why = refusal_of(one, state_.requested, link_);
    entries.push_back({.id = one.id,
                       .group = one.group,
                       .title = one.title,
                       .refusal = std::move(why),
                       .act = [this, change = std::move(one.change)] {
                         engine::RunRequest request = state_.requested;
                         change(request);
                         history_.changed(state_.requested, request, 0);
                         show_request(request);
                       }});
  }
  for (const auto& [index, name] :
       {std::pair{0, "Replays"}, {1, "Topology"}, {2, "Memory"}, {3, "Doctor"}}) {
    entries.push_back({.id = fmt::format("view.graphs.{}", index),
                       .group = "View",
                       .title = fmt::format("Graphs: {}", name),
                       .act = [this, shown = index] {
                         state_.workspace = Workspace::Graphs;
                         asked_graphs_view_ = shown;
                       }});
  }
  for (const NamedTour& tour : tours_) {
    entries.push_back({.id = "tour." + tour.title,
                       .group = "Tour",
                       .title = "Play the tour: " + tour.title,
                       .act = [this, path = tour.path] { open_tour(path); }});
  }
  for (const RecentFile& file : recent_files()) {
    entries.push_back({.id = "recent." + file.path,
                       .group = "Recent file",
                       .title = "Open " + file.path,
                       .refusal = file.missing,
                       .act = [this, path = file.path] { open_file(path); }});
  }
  const std::string no_visit = doctor_.news().busy ? "A visit is under way" : no_gpu();
  for (const profiling::HazardCase& one : profiling::hazard_cases()) {
    entries.push_back({.id = "gallery." + one.id,
                       .group = "Gallery",
                       .title = "Examine: " + one.title,
                       .refusal = no_visit,
                       .act = [this, id = one.id] {
                         VisitOrder order;
                         order.subject.request = state_.requested;
                         order.subject.gallery_case = id;
                         order.options.prove = true;
                         state_.workspace = Workspace::Graphs;
                         CommandSlots commands;
                         commands.examine = order;
                         carry_out_doctor(commands);
                       }});
  }
  return entries;
}

std::string Shell::no_gpu() const {
  const std::optional<WorkerHello>& hello = link_.hello();
  if (!hello) return "No worker has greeted yet";
  for (const BackendOffer& offer : hello->backends) {
    if (engine::traits_of(offer.kind).device && offer.available) return "";
  }
  return "Graphs are captured and replayed on a GPU, which this worker does not have";
}

}  // namespace app

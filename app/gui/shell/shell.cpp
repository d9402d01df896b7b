// What the shell does when asked: submit, restart, open, record, save. All of it returns at once.
#include "app/gui/shell/shell.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <utility>

#include "app/gui/shell/request_choices.h"
#include "app/protocol/paths.h"
#include "app/protocol/request_json.h"

namespace app {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> worker_argv(const WindowOptions& options) {
  if (!options.worker_argv.empty()) return options.worker_argv;
  return {worker_program()};
}

std::vector<engine::ShapePreset> presets_or_none(Notices& notices) {
  auto loaded = engine::load_presets(assets_folder() + "/shapes");
  if (loaded.ok()) return std::move(loaded).value();
  notices.add(Severity::Warn, "No shape presets: " + loaded.error().message);
  return {};
}

bool is_tensor_file(const std::string& path) {
  return path.ends_with(".npy") || path.ends_with(".safetensors");
}

}  // namespace

Shell::Shell(const WindowOptions& options, LoadedSettings settings, std::function<void()> wake)
    : options_(options),
      settings_(std::move(settings.settings)),
      wake_(std::move(wake)),
      link_(worker_argv(options), wake_),
      rail_(presets_or_none(notices_)),
      files_(wake_),
      loader_(wake_),
      doctor_(wake_) {
  if (!settings.problem.empty()) notices_.add(Severity::Warn, settings.problem);
  panels_[0] = make_performance_panel(wake_);
  panels_[1] = make_numerics_panel();
  panels_[2] = make_graphs_panel(wake_);
  link_.automatic = settings_.restart_automatically;
}

void Shell::begin() {
  recording_path_ = dated_path("expertscope", ".session");
  if (!options_.initial_request_json.empty()) {
    auto request = request_from_json(options_.initial_request_json);
    if (request.ok()) {
      state_.requested = std::move(request).value();
      run_at_hello_ = true;
    } else {
      notices_.add(Severity::Bad, "The request given at the start: " + request.error().message);
    }
  } else if (const engine::ShapePreset* preset = rail_.laptop_preset()) {
    // Small enough that a first look shows real numbers at once, on any machine.
    state_.requested.shape = preset->shape;
    state_.requested.shape.preset = preset->name;
    state_.live = true;
  }
  if (!options_.tour_folder.empty()) begin_tour();
  if (!options_.no_worker) start_worker("");
  if (options_.open_file.empty()) return;
  if (is_tensor_file(options_.open_file)) {
    rail_.path_chosen(FilePurpose::Activations, options_.open_file, state_.requested);
  } else if (options_.open_file.ends_with(".dot") || options_.open_file.ends_with(".gv")) {
    open_graph(options_.open_file);
  } else {
    open_recording(options_.open_file);
  }
}

void Shell::submit() {
  if (!engine::validate(state_.requested).ok()) return;
  state_.back_to_live();
  state_.last_error.clear();
  // The run supersedes a comparison on its way, which then follows it.
  if (link_.comparing() && !next_comparison_) next_comparison_ = asked_comparison_;
  link_.submit(state_.requested);
}

void Shell::compare(const engine::ComparisonRequest& request) {
  state_.comparison_error.clear();
  const engine::Status status = engine::validate(request);
  if (!status.ok()) {
    state_.comparison_error = status.error().message;
    return;
  }
  state_.back_to_live();
  next_comparison_ = request;
  compare_next();
}

void Shell::compare_next() {
  if (!next_comparison_ || (link_.waiting() && !link_.comparing())) return;
  asked_comparison_ = *std::exchange(next_comparison_, std::nullopt);
  if (link_.compare(asked_comparison_) != 0) return;
  state_.comparison_error = "There is no worker: " + link_.status().reason;
}

void Shell::cancel() {
  next_comparison_.reset();
  link_.cancel();
}

SessionView Shell::view() const {
  return state_.view(link_.status(), link_.hello(),
                     link_.comparing() || next_comparison_.has_value(), doctor_.news());
}

void Shell::start_worker(const std::string& cublaslt) {
  asked_inspection_.clear();
  state_.last_error.clear();
  next_comparison_.reset();
  link_.start(cublaslt);
}

void Shell::open_recording(const std::string& path) {
  remember_folder(path);
  loader_.start([path] { return profiling::open_session(path, request_codec()); });
}

void Shell::open_sample() {
  const std::string folder = assets_folder() + "/sessions";
  const FolderListing listing = list_folder(folder, {".session"});
  const auto first = std::find_if(listing.entries.begin(), listing.entries.end(),
                                  [](const FolderEntry& entry) { return !entry.folder; });
  if (first == listing.entries.end()) {
    notices_.add(Severity::Warn, "No recording lies in " + folder);
    return;
  }
  const std::string path = folder + "/" + first->name;
  loader_.start([path] { return profiling::open_session(path, request_codec()); });
}

void Shell::toggle_recording() {
  if (recorder_ != nullptr) {
    recorder_->finish();
    return;
  }
  recording_path_ = dated_path("expertscope", ".session");
  recorder_ = std::make_unique<Recorder>(recording_path_, wake_);
}

void Shell::save_session(const std::string& path) {
  if (saver_ != nullptr) {
    notices_.add(Severity::Warn, "A session is still being saved to " + saver_->path());
    return;
  }
  saver_ = std::make_unique<Recorder>(path, wake_);
  for (const SessionState::Run& run : state_.live_runs()) saver_->append(run);
  for (const SessionState::Comparison& one : state_.live_comparisons()) saver_->append(one);
  for (const SessionState::Visit& one : state_.live_visits()) saver_->append(one);
  saver_->finish();
}

void Shell::take_choice(const FileDialog::Choice& choice) {
  remember_folder(choice.path);
  switch (choice.purpose) {
    case FilePurpose::OpenRecording:
      open_recording(choice.path);
      return;
    case FilePurpose::SaveSession:
      save_session(choice.path.ends_with(".session") ? choice.path : choice.path + ".session");
      return;
    case FilePurpose::OpenGraph:
      open_graph(choice.path);
      return;
    case FilePurpose::ExportReport:
      export_report(choice.path);
      return;
    case FilePurpose::Activations:
    case FilePurpose::Weights:
    case FilePurpose::Gradients:
    case FilePurpose::Routing:
      rail_.path_chosen(choice.purpose, choice.path, state_.requested);
      return;
  }
}

void Shell::act(Action action) {
  switch (action) {
    case Action::Run:
      submit();
      return;
    case Action::OpenRecording:
      files_.open(FilePurpose::OpenRecording, settings_.folder, "");
      return;
    case Action::ShowPerformance:
      state_.workspace = Workspace::Performance;
      return;
    case Action::ShowNumerics:
      state_.workspace = Workspace::Numerics;
      return;
    case Action::ShowGraphs:
      state_.workspace = Workspace::Graphs;
      return;
    case Action::ShowRecipes:
      state_.recipes = state_.workspace != Workspace::Numerics || !state_.recipes;
      state_.workspace = Workspace::Numerics;
      return;
    case Action::Help:
      help_ = !help_;
      return;
    case Action::Close:
      if (files_.is_open()) {
        files_.close();
      } else if (help_) {
        help_ = false;
      } else {
        notices_.clear();
      }
      return;
    case Action::LargerText:
    case Action::SmallerText: {
      const float step = action == Action::LargerText ? 0.1F : -0.1F;
      settings_.text_scale =
          std::clamp(std::round((settings_.text_scale + step) * 10.0F) / 10.0F, 0.8F, 2.0F);
      return;
    }
    case Action::Screenshot:
      screenshot_wanted_ = true;
      return;
  }
}

void Shell::carry_out(const CommandSlots& commands) {
  if (commands.set_request) state_.requested = *commands.set_request;
  if (commands.run_now) submit();
  if (commands.cancel) cancel();
  if (commands.compare) compare(*commands.compare);
  if (commands.open_recording) open_recording(*commands.open_recording);
  if (commands.open_sample) open_sample();
  carry_out_doctor(commands);
  if (commands.select_run) state_.select_run(*commands.select_run);
  if (commands.show_workspace) state_.workspace = *commands.show_workspace;
  if (commands.show_recipes) state_.recipes = *commands.show_recipes;
}

void Shell::carry_out(const RailWishes& wishes) {
  if (wishes.run) submit();
  if (wishes.cancel) cancel();
  if (wishes.browse) files_.open(*wishes.browse, settings_.folder, "");
  if (wishes.inspect && *wishes.inspect != asked_inspection_ && link_.hello()) {
    asked_inspection_ = *wishes.inspect;
    link_.inspect_file(*wishes.inspect);
  }
  if (wishes.cublaslt) start_worker(*wishes.cublaslt);
}

void Shell::carry_out(const TopBarWishes& wishes) {
  if (wishes.action) act(*wishes.action);
  if (wishes.select_run) state_.select_run(*wishes.select_run);
  if (wishes.back_to_live) state_.back_to_live();
  if (wishes.toggle_recording) toggle_recording();
  if (wishes.save_session) {
    files_.open(FilePurpose::SaveSession, settings_.folder,
                fs::path(dated_path("expertscope", ".session")).filename().string());
  }
  if (wishes.toggle_theme) {
    settings_.theme = settings_.theme == ThemeKind::Dark ? ThemeKind::Light : ThemeKind::Dark;
  }
}

std::string Shell::dated_path(const char* stem, const char* suffix) const {
  std::error_code error;
  const fs::path folder =
      settings_.folder.empty() ? fs::current_path(error) : fs::path(settings_.folder);
  const std::string name =
      fmt::format("{}-{:%Y%m%d-%H%M%S}", stem, fmt::localtime(std::time(nullptr)));
  fs::path path = folder / (name + suffix);
  // Two in one second: files are never written over.
  for (int i = 2; fs::exists(path, error); ++i)
    path = folder / fmt::format("{}-{}{}", name, i, suffix);
  return path.string();
}

void Shell::remember_folder(const std::string& path) {
  std::error_code error;
  const fs::path folder = fs::absolute(path, error).parent_path();
  if (!error) settings_.folder = folder.string();
}

}  // namespace app

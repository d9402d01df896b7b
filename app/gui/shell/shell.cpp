// What the shell does when asked: submit, restart, open, record, save. All of it returns at once.
#include "app/gui/shell/shell.h"

#include <utility>

#include "app/gui/shell/request_choices.h"
#include "app/protocol/paths.h"
#include "app/protocol/request_json.h"

namespace app {
namespace {

std::vector<engine::ShapePreset> presets_or_none(Notices& notices) {
  auto loaded = engine::load_presets(assets_folder() + "/shapes");
  if (loaded.ok()) return std::move(loaded).value();
  notices.add(Severity::Warn, "No shape presets: " + loaded.error().message);
  return {};
}

// The menu closes in the frame after the click, and ImGui fades nothing.
constexpr int kFramesBeforePicture = 2;

}  // namespace

Shell::Shell(const WindowOptions& options, LoadedSettings settings, std::function<void()> wake)
    : options_(options),
      settings_(std::move(settings.settings)),
      wake_(std::move(wake)),
      link_(options.worker, wake_),
      rail_(presets_or_none(notices_)),
      files_(wake_),
      writes_(wake_),
      loader_(wake_),
      second_loader_(wake_),
      doctor_(wake_),
      libraries_(wake_),
      recent_(wake_),
      tour_finder_(wake_),
      tour_loader_(wake_) {
  if (!settings.problem.empty()) notices_.add(Severity::Warn, settings.problem);
  panels_[0] = make_performance_panel(wake_);
  panels_[1] = make_numerics_panel();
  panels_[2] = make_graphs_panel(wake_);
  panels_[3] = make_compare_panel(wake_);
  link_.automatic = settings_.restart_automatically;
}

void Shell::begin() {
  recording_path_ = dated_path("expertscope", ".session");
  for (const std::string& library : options_.allowed_libraries) consent_.allow(library);
  link_.allow_libraries(consent_.allowed());
  if (!options_.initial_request_json.empty()) {
    auto request = request_from_json(options_.initial_request_json);
    if (request.ok()) {
      state_.requested = std::move(request).value();
      consent_.named(state_.requested.cublaslt_library, options_.initial_request_file);
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
  if (!options_.tour_folder.empty()) {
    begin_tour();
  } else {
    find_tours();
  }
  if (!options_.no_worker) start_worker("");
  const bool of_tour = !options_.tour_folder.empty() && is_tour_file(options_.open_file);
  if (!options_.open_file.empty() && !of_tour) open_file(options_.open_file);
}

void Shell::submit() {
  if (!engine::validate(state_.requested).ok()) return;
  if (!may_load(state_.requested.cublaslt_library, "run", [this] { submit(); })) return;
  state_.back_to_live();
  state_.last_error.clear();
  // The run supersedes a comparison on its way, which then follows it.
  if (link_.comparing() && !next_comparison_) next_comparison_ = asked_comparison_;
  if (link_.stepping() && !next_history_) next_history_ = asked_history_;
  frames_while_timing_ = 0;
  link_.submit(state_.requested);
}

void Shell::compare(const engine::ComparisonRequest& request) {
  state_.comparison_error.clear();
  const engine::Status status = engine::validate(request);
  if (!status.ok()) {
    state_.comparison_error = status.error().message;
    return;
  }
  const auto again = [this, request] { compare(request); };
  if (!may_load(request.request.cublaslt_library, "comparison", again)) return;
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

void Shell::step_history(const engine::AmaxHistoryRequest& request) {
  state_.history_error.clear();
  const engine::Status status = engine::validate(request);
  if (!status.ok()) {
    state_.history_error = status.error().message;
    return;
  }
  const auto again = [this, request] { step_history(request); };
  if (!may_load(request.request.cublaslt_library, "history", again)) return;
  state_.back_to_live();
  next_history_ = request;
  step_next();
}

void Shell::step_next() {
  if (!next_history_ || (link_.waiting() && !link_.stepping())) return;
  asked_history_ = *std::exchange(next_history_, std::nullopt);
  if (link_.step_history(asked_history_) != 0) return;
  state_.history_error = "There is no worker: " + link_.status().reason;
}

void Shell::cancel() {
  next_comparison_.reset();
  batches_.cancel();
  next_history_.reset();
  link_.cancel();
}

SessionView Shell::view() const {
  SessionView now = state_.view(link_.status(), link_.hello(),
                                link_.comparing() || next_comparison_.has_value(), doctor_.news());
  now.library = libraries_.news();
  now.batch = batches_.news(now.link);
  now.stepping = link_.stepping() || next_history_.has_value();
  return now;
}

void Shell::start_worker(const std::string& cublaslt) {
  if (!may_load(cublaslt, "worker", [this, cublaslt] { start_worker(cublaslt); })) return;
  asked_inspection_.clear();
  state_.last_error.clear();
  next_comparison_.reset();
  next_history_.reset();
  link_.start(cublaslt);
  if (!link_.started()) {
    notices_.add(Severity::Bad, "No worker was started: " + link_.status().reason);
  }
}

void Shell::replace_worker() {
  const bool stuck = link_.status().cancel_overdue;
  start_worker(link_.cublaslt());
  if (stuck && std::exchange(state_.live, false)) {
    notices_.add(Severity::Warn,
                 "Live is off: the next worker would get the run that the last one did not end.");
  }
}

void Shell::carry_out(const CommandSlots& commands) {
  if (commands.set_request) state_.requested = *commands.set_request;
  if (commands.run_now) submit();
  if (commands.cancel) cancel();
  if (commands.compare) compare(*commands.compare);
  if (commands.step_history) step_history(*commands.step_history);
  if (commands.open_recording) open_file(*commands.open_recording);
  if (commands.open_sample) open_sample();
  carry_out_doctor(commands);
  carry_out_compare(commands);
  if (commands.select_run) state_.select_run(*commands.select_run);
  if (commands.show_workspace) state_.workspace = *commands.show_workspace;
  if (commands.show_recipes) state_.recipes = *commands.show_recipes;
  if (!commands.says.empty()) says_ = commands.says;
  if (commands.set_notes) keep_notes(*commands.set_notes);
  if (commands.selection_taken) asked_selection_.reset();
  if (commands.select_expert) state_.expert = *commands.select_expert;
  seen_selection_ = commands.selected;
  seen_graphs_view_ = commands.graphs_view;
  if (commands.save_csv) save_csv(*commands.save_csv);
  if (commands.export_records) ask_export(*commands.export_records);
  if (commands.save_picture) {
    picture_ = commands.save_picture;
    picture_frames_ = kFramesBeforePicture;
  }
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
  if (wishes.open_recent) open_file(*wishes.open_recent);
  if (wishes.play_tour) open_tour(*wishes.play_tour);
  if (wishes.check_recent) recent_.check(settings_.recent);
}

}  // namespace app

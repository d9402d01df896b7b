// The shell's part of a guided run: it plays the steps and ends the program with their outcome.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <utility>

#include "app/gui/shell/shell.h"
#include "app/protocol/paths.h"
#include "app/protocol/terminal_text.h"

namespace app {

void Shell::begin_tour() {
  std::error_code error;
  std::filesystem::create_directories(options_.tour_folder, error);
  if (error) return fail_tour(options_.tour_folder + ": " + error.message());
  const bool named = is_tour_file(options_.open_file);
  auto script = load_tour(named ? options_.open_file : assets_folder() + "/tours/first_steps.json");
  if (!script.ok()) return fail_tour(script.error().message);
  // Every run of the tour is one of its steps.
  state_.live = false;
  recording_path_ = options_.tour_folder + "/tour.session";
  // The folder belongs to the tour: a second one replaces the first one's recording.
  for (const char* suffix : {"", "-wal", "-shm"}) {
    std::filesystem::remove(recording_path_ + suffix, error);
  }
  recorder_ = std::make_unique<Recorder>(recording_path_, wake_);
  tour_.emplace(std::move(script).value().steps, options_.tour_folder);
}

void Shell::tick_tour() {
  if (const std::string overdue = tour_->overdue(); !overdue.empty()) return fail_tour(overdue);
  if (link_.started() && link_.status().state == LinkState::Lost) {
    return fail_tour("the worker is lost: " + link_.status().reason);
  }
  switch (tour_->phase()) {
    case Tour::Phase::Begin:
      begin_tour_step();
      return;
    case Tour::Phase::WaitForResult: {
      if (!state_.last_error.empty()) return fail_tour(state_.last_error);
      const bool sample = tour_->step()->open_sample;
      const bool arrived = sample ? state_.from_file()
                                  : state_.shown() != nullptr && !state_.from_file() &&
                                        state_.shown()->result.id >= tour_->awaited_run();
      if (!arrived) return;
      asked_selection_ = tour_->step()->selection;
      tour_->result_arrived();
      return;
    }
    case Tour::Phase::WaitForWorker:
    case Tour::Phase::Settle:
    case Tour::Phase::Shoot:
    case Tour::Phase::Done:
      return;
  }
}

void Shell::begin_tour_step() {
  const TourStep& step = *tour_->step();
  state_.workspace = step.workspace;
  notices_.clear();
  if (step.open_sample) {
    open_sample();
    // Without a shipped recording the notice says so, and the picture shows it.
    if (!loader_.running()) return tour_->result_arrived();
    return tour_->waits_for(0);
  }
  if (step.request_patch.empty()) return tour_->result_arrived();
  auto request = patched_request(state_.requested, step, rail_.presets());
  if (!request.ok()) return fail_tour(request.error().message);
  state_.requested = std::move(request).value();
  submit();
  tour_->waits_for(link_.newest_id());
}

void Shell::fail_tour(const std::string& why) {
  fmt::print(stderr, "tour: {}\n", terminal_text(why));
  recorder_.reset();
  exit_code_ = 1;
}

void Shell::finish_tour() {
  // Ends when the last run is in the file.
  recorder_.reset();
  fmt::print("{}\n", recording_path_);
  std::fflush(stdout);
  exit_code_ = 0;
}

}  // namespace app

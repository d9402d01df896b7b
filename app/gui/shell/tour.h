// A tour: a list of steps, each a caption and what the window shows with it (a request to run, or
// a recording). TourScript is the file; Tour plays it off-screen, a picture a step, and fails
// loudly when a step does not get its result; TourPlayer (tour_player.h) plays it to a person.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/view.h"
#include "engine/input/presets.h"

namespace app {

/// Names of the views of Graphs, in their order on screen.
inline constexpr std::array<const char*, 4> kGraphsViews = {"replays", "topology", "memory",
                                                            "doctor"};

struct TourStep {
  std::string name;   // of the picture: "01-first-numbers"
  std::string title;  // a few words; empty = the name
  std::string caption;
  Workspace workspace = Workspace::Performance;
  std::string view;    // of the workspace: "recipes", "replays", "topology", "memory", "doctor"
  std::string preset;  // shape preset; empty = as it is
  std::string request_patch;  // JSON merged into the request; empty = no run is asked for
  bool open_sample = false;   // show the recording that ships
  std::string recording;      // or this one: a path, or a name in assets/sessions
  std::optional<AskedSelection> selection{};  // made when the result is on screen
  int run = -1;                               // of the recording; -1 = its first
  double seconds = 60;                        // until the step counts as failed
};

struct TourScript {
  std::string path = {};  // where it was read from
  std::string title;
  std::vector<TourStep> steps;
};

/// A tour (.json with "steps") or a request log (one request a line, with captions). The error
/// names the file and what is wrong with it.
engine::Result<TourScript> load_tour(const std::string& path);
/// The file of a tour: what load_tour() reads back as the same steps.
std::string tour_text(const TourScript& script);
/// Whether this file looks like one, by its ending.
bool is_tour_file(const std::string& path);

/// Seconds that a person needs to read the caption.
double reading_seconds(const TourStep& step);

/// The request of a step: the preset's shape, then the patch.
engine::Result<engine::RunRequest> patched_request(const engine::RunRequest& request,
                                                   const TourStep& step,
                                                   const std::vector<engine::ShapePreset>& presets);

class Tour {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Phase { WaitForWorker, Begin, WaitForResult, Settle, Shoot, Done };

  Tour(std::vector<TourStep> steps, std::string folder);

  Phase phase() const { return phase_; }
  const TourStep* step() const { return index_ < steps_.size() ? &steps_[index_] : nullptr; }
  const std::string& folder() const { return folder_; }
  std::string picture_path() const;

  void worker_ready();
  void waits_for(std::uint64_t run_id);
  std::uint64_t awaited_run() const { return awaited_run_; }
  void result_arrived();
  void frame_drawn();
  void picture_written();
  /// Why the step has failed; empty while it has not.
  std::string overdue() const;

 private:
  void enter(Phase phase, double seconds);

  std::vector<TourStep> steps_;
  std::string folder_;
  std::size_t index_ = 0;
  Phase phase_ = Phase::WaitForWorker;
  std::uint64_t awaited_run_ = 0;
  int frames_ = 0;
  Clock::time_point deadline_;
};

}  // namespace app

// The file of a tour: a list of steps, each a caption and what the window shows with it (a request
// to run, or a recording).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/controllers/session_view.h"
#include "engine/input/presets.h"

namespace app {

struct TourStep {
  std::string name;   // of the picture: "01-first-numbers"
  std::string title;  // a few words; empty = the name
  std::string caption;
  Page page = Page::Performance;
  std::string view;            // of the page: "recipes", "replays", "topology", "memory", "doctor"
  std::string panel;           // the caption is about: "performance.timeline"; outlined
  std::string preset;          // shape preset; empty = as it is
  std::string request_patch;   // JSON: what differs from the step before; empty = nothing is run
  bool whole_request = false;  // it is one by itself: of a log, whose requests are not related
  bool open_sample = false;    // show the recording that ships
  std::string recording;       // or this one: a path, or a name in assets/sessions
  std::optional<Selection> selection{};  // made when the result is on screen
  int run = -1;                          // of the recording; -1 = its first
  double seconds = 60;                   // until the step counts as failed
};

struct TourScript {
  std::string path = {};  // where it was read from
  std::string title;
  std::vector<TourStep> steps;
  /// The file was something else: one request, or a recording of routing. Then there are no steps.
  std::optional<engine::RunRequest> request = {};
  bool is_routing = false;
  std::optional<engine::RoutingFacts> routing = {};  // none: its numbers have several readings
};

/// A tour (.json with "steps"), a single request, a list of splits, or a request log (one request
/// per line, with captions; without one a step shows summary_of() its request). The error names the
/// file and what is wrong with it.
engine::Result<TourScript> load_tour(const std::string& path);
/// The file of a tour: what load_tour() reads back as the same steps.
std::string tour_text(const TourScript& script);
/// Whether this file looks like one, by its ending.
bool is_tour_file(const std::string& path);

/// Seconds that it takes to read the caption.
double reading_seconds(const TourStep& step);

/// The request of a step: a default request, changed by this step and those before it, each by its
/// preset's shape and then its patch. The error names the step.
engine::Result<engine::RunRequest> request_of_step(const TourScript& script, std::size_t index,
                                                   const std::vector<engine::ShapePreset>& presets);

}  // namespace app

// What the window draws around the page: the bar on top, the banners and the headline figures above
// the page, the status bar below, and the help overlay. Each draws into the current ImGui window.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/controllers/files_controller.h"
#include "app/controllers/tour_controller.h"
#include "app/controllers/workbench.h"
#include "app/gui/controls/panel_context.h"
#include "app/gui/shell/keys.h"
#include "profiling/trace/statistics.h"

namespace app {

/// Names of the runs in the top bar: made when a run is added or removed, not in every frame.
class RunNames {
 public:
  using Runs = std::vector<std::shared_ptr<const profiling::RecordedRun>>;
  /// One name for each run, numbered from 1.
  const std::vector<std::string>& of(const Runs& runs);

 private:
  Runs runs_;
  std::vector<std::string> names_;
};

struct TopBarState {
  Page page = Page::Performance;
  bool recording = false;
  std::string recording_path;
  std::size_t recorded_runs = 0;
  std::size_t live_results = 0;               // of every kind
  const std::vector<std::string>& run_names;  // of SessionView::runs
  std::vector<RecentFile> recent{};
  const std::vector<TourController::Named>& tours;
};
void draw_top_bar(const PanelContext& context, const TopBarState& state);

/// Only measured values, each with its method as tooltip. `step_ns`: of the timed iterations of the
/// run on screen, computed once per run, which may have a hundred thousand of them.
/// `precision` of the median: "±0.8 %"; empty = unknown.
void draw_headline(const PanelContext& context, const profiling::Distribution& step_ns,
                   const std::string& precision);

/// The device between runs, as text for the status bar: its clock, power and temperature, or why
/// they are not known. Rounded, so that noise does not change the text.
struct DeviceWords {
  std::string line;  // "345 MHz · 118 W · 41 °C", "no GPU: ..."; empty = nothing is known yet
  std::string tooltip;
  bool operator==(const DeviceWords&) const = default;
};
/// Empty while an order is in progress: nothing is read then.
DeviceWords device_words(const LinkStatus& link, const std::optional<WorkerHello>& hello);

struct StatusLine {
  std::string last_error;
  std::string message;  // what was just done, or why it was not possible
};
void draw_status_bar(const PanelContext& context, const StatusLine& line);

/// True when it was closed.
bool draw_help(const PanelContext& context);

// Banners: coloured strips, never modal, that do not take the focus. Each draws nothing if it has
// nothing to say.

/// For a worker that is lost, stalled, or does not answer Cancel.
void draw_link_banner(const PanelContext& context, LinkSupervisor& link);
/// While nothing can be written: results wait in memory, and the user can choose another place.
void draw_recorder_banner(const PanelContext& context, const Recorder::Progress& progress);
void draw_library_question(const PanelContext& context, const LibraryConsent::Question* question);
void draw_notices(const PanelContext& context, Notices& notices);
/// Caption of the tour's step, and buttons to step through the tour.
void draw_tour(const PanelContext& context, const Workbench& workbench);
/// The draft of a new tour.
void draw_tour_draft(const PanelContext& context, TourController& tours);

}  // namespace app

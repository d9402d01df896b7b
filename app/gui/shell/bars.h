// What the window draws around the page: the bar on top, the headline figures above the page, the
// strip for banners and the status bar below, and the help overlay. Each draws into the current
// ImGui window.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/controllers/closing.h"
#include "app/controllers/files_controller.h"
#include "app/controllers/tour_controller.h"
#include "app/controllers/workbench.h"
#include "app/gui/controls/panel_context.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/shell/keys.h"
#include "profiling/trace/statistics.h"

namespace app {

/// Names of the listed runs: made when a run is added, removed or named, not in every frame.
class RunNames {
 public:
  /// One for each run, numbered from 1 in this window and in the recording.
  const std::vector<std::string>& of(const SessionView& view);
  /// The runs of a sweep, and the blocks of an interleaved measurement, of the same view.
  const std::vector<controls::Fold>& folds() const { return folds_; }

 private:
  std::vector<std::shared_ptr<const profiling::RecordedRun>> runs_;
  std::size_t live_ = 0;
  std::uint64_t given_ = 0;
  std::vector<std::string> names_;
  std::vector<controls::Fold> folds_;
};

/// Chooses the run on screen from all listed runs, and names it.
class RunPicker {
 public:
  void draw(const PanelContext& context, float width);

 private:
  void draw_below(const PanelContext& context);
  void give_name(const PanelContext& context);

  RunNames names_;
  std::string filter_;
  std::set<std::int64_t> open_groups_;
  std::string name_;
  bool edited_ = false;      // `name_` is not the run's name yet
  std::uint64_t named_ = 0;  // generation of the run that `name_` is of
};

/// Where runs happen, for the button of the top bar.
struct MachineWords {
  enum class Tone { Plain, Busy, Warn, Bad };
  std::string label;  // "This machine", "gpu1 · NVIDIA H200", "gpu1 45 %"
  std::string tooltip;
  Tone tone = Tone::Plain;
};
/// `connection_lost`: Workbench::connection_lost().
MachineWords machine_words_of(const MachineStatus& status, const SessionView& view,
                              const std::string& connection_lost);

struct TopBarState {
  Page page = Page::Performance;
  MachineWords machine{};
  bool recording = false;
  std::string recording_path;
  std::size_t recorded_runs = 0;
  std::size_t live_results = 0;  // of every kind
  std::string page_refusal{};    // why no page can be exported; empty = one can
  std::vector<RecentFile> recent{};
  const std::vector<TourController::Named>& tours;
};
void draw_top_bar(const PanelContext& context, const TopBarState& state, RunPicker& picker_of_runs);

/// Draws measured values only, each with its method as tooltip. `step_ns` has the timed iterations
/// of the run on screen, computed once per run, which may have a hundred thousand of them.
/// `precision` is that of the median.
void draw_headline(const PanelContext& context, const profiling::Distribution& step_ns,
                   const profiling::MedianPrecision& precision);
/// The same in one line, where cards are presented without it: the subject of the page, else the
/// figures, the device and the request. Empty without a run.
std::string headline_line(const SessionView& view, const profiling::Distribution& step_ns,
                          const profiling::MedianPrecision& precision);

/// The device between runs, as text for the status bar: its clock, power and temperature, or why
/// they are not known. Rounded, so that noise does not change the text.
struct DeviceWords {
  std::string line;  // "345 MHz · 118 W · 41 °C", "no GPU: ..."; empty = nothing is known yet
  std::string tooltip;
  bool operator==(const DeviceWords&) const = default;
};
/// Empty while an order is in progress: nothing is read then.
DeviceWords device_words(const LinkStatus& link, const std::optional<WorkerHello>& hello);

/// Every field has its place and its width, so that nothing moves while numbers change; messages
/// appear in a field of their own. The notices' list opens above the bar.
void draw_status_bar(const PanelContext& context, const std::string& last_error, Notices& notices);

CloseAnswer draw_close_question(const PanelContext& context, const CloseQuestion& question);

/// True when it was closed.
bool draw_help(const PanelContext& context);

ImU32 severity_color(const Palette& colors, Severity severity);
/// The button at the end of the status bar, and the list that it opens. `width` is kept free where
/// there is nothing to list.
void draw_notice_list(const PanelContext& context, Notices& notices, float width);

/// What needs an answer, or the caption of a tour. Never modal, and takes no focus.
struct Banner {
  const char* id = "";
  ImU32 color = 0;
  std::string text{};
  bool caption = false;   // in large letters, if there is room
  std::string heading{};  // dimmed, above the actions
  float width = 0;        // that the actions would fill, pixels
  /// In one row, from the cursor, in the width that there is for them; null = none.
  std::function<void(float width)> actions{};
  bool last = false;  // no other message follows its answer
};

/// The strip above the status bar. It opens for the first banner, not under a pressed mouse, and
/// stays open for a while without a banner, so that a banner covers nothing and banners that follow
/// each other move the page at most once; another page closes it at once. It shows the most urgent
/// banner; a button shows the rest.
class MessageStrip {
 public:
  /// Whether the strip takes its room in this frame. `wanted`: there is a banner.
  bool takes_room(bool wanted, Page page);
  /// Whether it is open without a banner for so long that the next frame closes it.
  bool overdue() const;
  /// Fills the current ImGui window. The most urgent first.
  void draw(const PanelContext& context, const std::vector<Banner>& banners);

 private:
  const Banner& front(const std::vector<Banner>& banners);

  std::vector<std::string> ids_;  // of those at hand
  std::string chosen_;            // by the user; empty = the most urgent
  bool open_ = false;
  bool wanted_ = false;                                // in the newest frame
  bool answered_ = false;                              // by a click that ends the row
  std::chrono::steady_clock::time_point wanted_at_{};  // of the newest banner
  Page page_ = Page::Performance;                      // of the newest frame
};
float strip_height(const Theme& theme);

// Each is nullopt if it has nothing to ask. What they are made from outlives the banner.

/// What this program is and how to begin, for who starts it for the first time. `closed` is set
/// when it has been read.
std::optional<Banner> welcome_banner(const PanelContext& context, const TourController& tours,
                                     bool& closed);

/// About a run that takes long; null = none waits for an answer.
std::optional<Banner> long_run_banner(const PanelContext& context, const LongRun* run);
/// For a connection that is lost, silent, or asks something; before link_banner().
std::optional<Banner> machine_banner(const PanelContext& context, const MachineStatus& status,
                                     const std::string& connection_lost, bool dialog_open);
/// For a worker that is lost, stalled, or does not answer Cancel.
std::optional<Banner> link_banner(const PanelContext& context, LinkSupervisor& link);
/// While nothing can be written: results wait in memory, and the user can choose another place.
std::optional<Banner> recorder_banner(const PanelContext& context,
                                      const Recorder::Progress& progress);
std::optional<Banner> library_banner(const PanelContext& context,
                                     const LibraryConsent::Question* question);
/// Caption of the tour's step, and buttons to step through the tour.
std::optional<Banner> tour_banner(const PanelContext& context, const Workbench& workbench);
/// The draft of a new tour; `room` in pixels.
std::optional<Banner> draft_banner(const PanelContext& context, TourController& tours, float room);

}  // namespace app

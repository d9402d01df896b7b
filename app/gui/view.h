// What a panel sees and what it may ask for. Panels hold only a little saved state of their own: no
// I/O, no lock, no sleep.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/doctor/visit.h"
#include "app/gui/controls/control_map.h"
#include "app/gui/theme/theme.h"
#include "app/protocol/worker_link.h"
#include "app/sweep/batch.h"
#include "app/sweep/interleaved_plan.h"
#include "app/sweep/sweep_plan.h"
#include "engine/model/amax_history.h"
#include "engine/model/run_request.h"
#include "profiling/session/session_file.h"
#include "profiling/trace/kernel_durations.h"

namespace app {

enum class Workspace { Performance, Numerics, Graphs, Compare };

/// What to examine, and how.
struct VisitOrder {
  DoctorSubject subject;
  VisitOptions options;
  bool uses_current_request = true;  // the rail's; false = that of a run or visit on screen
};

/// What the graph doctor is doing and what the rules found without a visit. Reports are immutable
/// once published.
struct DoctorNews {
  using Report = std::shared_ptr<const profiling::DoctorReport>;
  bool busy = false;       // a visit is in progress
  bool proving = false;    // with experiments
  std::string subject;     // of the newest visit
  std::string error;       // why it failed
  VisitProgress progress;  // of the visit in progress; its so_far is below
  Report so_far;           // null = nothing yet
  Report run_report;       // of the run on screen: rules only; null = no snapshot, or not ready yet
  Report file_report;      // of the newest opened file
  int files_opened = 0;
  std::string file_error;
};

/// The newest fetch of a cuBLASLt in this window.
struct LibraryNews {
  std::string version;  // empty = there was none
  bool busy = false;
  std::string line;   // current output of the fetch
  std::string error;  // why it failed
  std::string path;   // of the library once it exists
};

/// One request varied along axes.
struct SweepOrder {
  engine::RunRequest base;
  SweepAxes axes;
};

/// The newest sweep or interleaved measurement of this window.
struct BatchNews {
  profiling::GroupKind kind = profiling::GroupKind::None;  // None = there was none
  std::int64_t id = 0;                                     // of its runs' group; 0 = it was refused
  BatchState state = BatchState::Done;
  BatchProgress progress;
  std::shared_ptr<const std::vector<BatchRow>> rows;  // null = it was refused
  std::string error;                                  // why it was refused or failed
};

/// Read-only picture of the window's state for one frame.
struct SessionView {
  engine::RunRequest requested;  // what the rail shows
  /// The run on screen; null = none yet. Immutable once published, so panels may cache what they
  /// derive from it, keyed by `run_generation`.
  std::shared_ptr<const profiling::RecordedRun> run;
  std::uint64_t run_generation = 0;  // changes whenever `run` does
  int expert = -1;                   // selected, in `run`; -1 = none
  bool stale = false;                // the rail asks for something newer than `run`
  bool from_file = false;            // `run` comes from an opened recording
  std::vector<std::shared_ptr<const profiling::RecordedRun>>
      runs;  // all available runs, oldest first
  std::size_t run_index = 0;
  std::string session_path;  // of the opened recording, empty = live
  std::vector<std::shared_ptr<const profiling::RecordedComparison>>
      comparisons;               // of recipes, live or of the recording, oldest first
  bool recipes = false;          // Numerics shows all recipes side by side, not the run
  bool comparing = false;        // one is in progress, or waits for the run before it
  std::string comparison_error;  // of the newest order; empty after a success
  std::vector<std::shared_ptr<const profiling::RecordedHistory>>
      histories{};              // of amax, live or of the recording, oldest first
  bool stepping = false;        // one is in progress, or waits
  std::string history_error{};  // of the newest order
  std::vector<std::shared_ptr<const profiling::RecordedVisit>>
      visits;  // to the graph doctor, live or of the recording, oldest first
  DoctorNews doctor{};
  LibraryNews library{};
  const std::vector<profiling::TimeNote>* notes = nullptr;  // of `run`; null without one
  /// Frames of this window, while `run` timed its iterations on this machine; -1 = elsewhere or not
  /// known.
  int frames_while_timing = -1;
  BatchNews batch{};
  std::vector<std::shared_ptr<const profiling::RecordedRun>>
      second_runs{};          // of the second recording, for Compare
  std::string second_path{};  // empty = none
  LinkStatus link;
  std::optional<WorkerHello> hello;
};

/// A part of the window as a PNG, without overlays.
struct PictureOrder {
  std::string stem;  // of the file's name: "performance-timeline"
  ImVec2 min{};      // window pixels
  ImVec2 max{};
};
struct CsvOrder {
  std::string stem;
  std::string text;
};

/// Records of the run on screen as a file; the window asks for its path.
struct RecordsOrder {
  bool csv = false;                             // else a Chrome trace
  std::optional<profiling::TimeRange> range{};  // since the first timed iteration; none = all
};

/// What a tour's step selects, as if the user had: ranges [first, second) that are dragged, an
/// expert that is clicked.
struct AskedSelection {
  std::optional<std::array<double, 2>> timeline_ns{};  // since the first timed iteration
  std::optional<std::array<double, 2>> values_log2{};  // of the histograms in Numerics
  int expert = -1;                                     // -1 = none
  bool empty() const { return !timeline_ns && !values_log2 && expert < 0; }
};

/// At most one request of each kind per frame; the shell fulfils them after the frame.
struct CommandSlots {
  std::optional<engine::RunRequest> set_request;  // as if changed in the rail
  bool run_now = false;
  bool cancel = false;
  std::optional<engine::ComparisonRequest> compare;  // newest wins; follows a run in progress
  std::optional<engine::AmaxHistoryRequest> step_history{};  // likewise
  std::optional<std::string> open_recording;  // path; the shell opens it on a separate thread
  std::optional<VisitOrder> examine;          // a visit to the graph doctor
  bool cancel_visit = false;
  std::string fetch_library{};  // version of a cuBLASLt; empty = none
  bool cancel_fetch = false;
  std::optional<std::string> use_library{};  // path: the worker restarts with it
  bool open_graph = false;             // asks for a dot file or a recording with captured graphs
  DoctorNews::Report export_report{};  // asks for the path
  bool open_sample = false;            // the recording that ships in assets
  std::optional<std::size_t> select_run;
  std::optional<Workspace> show_workspace;
  std::optional<bool> show_recipes;  // of Numerics
  bool open_second = false;          // asks for a recording to compare with
  std::optional<SweepOrder> sweep;
  std::optional<InterleavedOrder> interleave;
  bool cancel_batch = false;
  std::optional<std::vector<profiling::TimeNote>>
      set_notes;  // of the run on screen: the complete list
  std::optional<PictureOrder> save_picture;
  std::optional<CsvOrder> save_csv;
  std::optional<RecordsOrder> export_records;
  bool selection_taken = false;        // PanelContext::selection was followed
  std::optional<int> select_expert{};  // of the run on screen; -1 = none
  // Not a request: what is shown and selected, for a tour that is being made.
  AskedSelection selected{};
  int graphs_view = -1;  // as PanelContext::graphs_view
  std::string says;      // for the status bar: what was just done
};

/// Plot keys pressed since the last frame, handled by the plot under the mouse.
struct PlotKeys {
  int zoom = 0;  // steps in (W) minus steps out (S)
  int pan = 0;   // steps right (D, right arrow) minus steps left (A, left arrow)
  bool fit_selection = false;
  bool fit_all = false;
  bool clear = false;
  int event = 0;              // records forward (.) minus records back (,)
  int edge = 0;               // along the graph: to a dependent node (]) minus to a dependency ([)
  bool find = false;          // open the search
  bool mark = false;          // mark the selected range temporarily
  bool keep_mark = false;     // as a note
  int store = 0;              // store this view of the timeline as 1..9; 0 = not requested
  int recall = 0;             // return to it
  bool export_trace = false;  // the timeline's selected range to a file, as a Chrome trace
  bool export_records = false;  // or as a table
};

struct PanelContext {
  const SessionView& view;
  CommandSlots& commands;
  const Theme& theme;
  ControlMap& controls;
  PlotKeys keys{};
  int graphs_view = -1;  // Graphs shows this one from now on: replays, topology, memory, doctor
  const AskedSelection* selection = nullptr;  // null = nothing requested
};

/// A click on an expert selects it; a click on the selected one clears the selection.
inline void select_expert(const PanelContext& context, int expert) {
  context.commands.select_expert = context.view.expert == expert ? -1 : expert;
}

/// A workspace fills the region right of the rail. One class each in panels/.
class WorkspacePanel {
 public:
  virtual ~WorkspacePanel() = default;
  /// Draws into the current ImGui window, using the whole of `size`.
  virtual void draw(const PanelContext& context, ImVec2 size) = 0;
  /// Called between frames, a few times per second: true when a background result is to be drawn.
  virtual bool tick() { return false; }
};

/// `wake`, here and below, may be called from any thread when tick() would find a result.
std::unique_ptr<WorkspacePanel> make_performance_panel(const std::function<void()>& wake);
std::unique_ptr<WorkspacePanel> make_numerics_panel();
std::unique_ptr<WorkspacePanel> make_graphs_panel(const std::function<void()>& wake);
std::unique_ptr<WorkspacePanel> make_compare_panel(const std::function<void()>& wake);

}  // namespace app

// What the pages see: a read-only picture of the window's state for one frame.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/doctor/visit.h"
#include "app/protocol/worker_link.h"
#include "app/sweep/batch.h"
#include "app/sweep/plan.h"
#include "engine/model/run_request.h"
#include "profiling/session/session_file.h"

namespace app {

enum class Page { Performance, Numerics, Graphs, Compare };
inline constexpr std::array kPages = {Page::Performance, Page::Numerics, Page::Graphs,
                                      Page::Compare};
/// Names used in tours, in the settings and in the control map.
constexpr std::string_view page_name(Page page) {
  return std::array<std::string_view, 4>{"performance", "numerics", "graphs",
                                         "compare"}[static_cast<std::size_t>(page)];
}

/// As displayed.
constexpr const char* page_title(Page page) {
  return std::array{"Performance", "Numerics", "Graphs", "Compare"}[static_cast<std::size_t>(page)];
}

inline std::optional<Page> page_named(std::string_view name) {
  for (const Page page : kPages) {
    if (page_name(page) == name) return page;
  }
  return std::nullopt;
}

/// What is selected on a page, by the user or by a tour's step: ranges [first, second), as if
/// dragged, and an expert, as if clicked.
struct Selection {
  std::optional<std::array<double, 2>> timeline_ns{};  // since the first timed iteration
  std::optional<std::array<double, 2>> values_log2{};  // of the histograms in Numerics
  int expert = -1;                                     // -1 = none
  bool empty() const { return !timeline_ns && !values_log2 && expert < 0; }
};

/// The page on screen, as the newest frame showed it.
struct PageState {
  Page page = Page::Performance;
  std::string view{};  // one of the page's own: "recipes", "doctor"; empty = its first
  Selection selection{};
};

/// What to examine, and how.
struct VisitOrder {
  DoctorSubject subject;
  VisitOptions options;
  bool uses_current_request = true;  // the rail's; false = that of a run or visit on screen
};

/// What the graph doctor is doing and what the rules found without a visit. Reports are immutable
/// once published.
struct DoctorState {
  using Report = std::shared_ptr<const profiling::DoctorReport>;
  bool busy = false;       // a visit is in progress
  bool proving = false;    // with experiments
  std::string subject;     // of the newest visit
  std::string error;       // why it failed
  VisitProgress progress;  // of the visit in progress; its so_far is below
  Report so_far;           // null = nothing yet
  Report run_report;       // of the run on screen: rules only; null = no snapshot, or not ready yet
  bool examines_run = false;  // run_report is being made
  Report file_report;         // of the newest opened file
  int files_opened = 0;
  std::string file_error;
  std::string file_doubt;  // of the newest opened recording: profiling::Session::doubt
  /// A visit to a case of the gallery that was recorded elsewhere; null = none was asked for.
  std::shared_ptr<const profiling::RecordedVisit> recorded_case;
  int recorded_shown = 0;  // how often one was asked for and is there
  int attached = 0;        // how often a program, or the record of one, was begun to be watched
};

/// The newest fetch of a cuBLASLt library in this window.
struct LibraryFetch {
  std::string version;  // empty = there was none
  bool busy = false;
  std::string line;   // its newest output
  std::string error;  // why it failed
  std::string path;   // of the library once it exists
};

/// One request varied along axes.
struct SweepOrder {
  engine::RunRequest base;
  SweepAxes axes;
};

/// The newest sweep or interleaved measurement of this window.
struct BatchStatus {
  profiling::GroupKind kind = profiling::GroupKind::None;  // None = there was none
  std::int64_t id = 0;                                     // of its runs' group; 0 = it was refused
  BatchState state = BatchState::Done;
  BatchProgress progress;
  std::shared_ptr<const std::vector<BatchRow>> rows;  // null = it was refused
  std::string error;                                  // why it was refused or failed
};

/// Why no visit to the doctor can be made now; empty = it can.
std::string visit_refusal(const DoctorState& doctor, const LinkStatus& link,
                          const std::optional<WorkerHello>& hello);

/// Names that runs were given in this window, over those that they were recorded with.
class RunNamesGiven {
 public:
  using Run = std::shared_ptr<const profiling::RecordedRun>;
  const std::string& of(const Run& run) const {
    const auto found = names_.find(run);
    return found == names_.end() ? run->name : found->second;
  }
  void give(const Run& run, std::string name) {
    names_[run] = std::move(name);
    ++generation_;
  }
  void forget(const Run& run) { names_.erase(run); }
  /// Changes whenever a name does.
  std::uint64_t generation() const { return generation_; }

 private:
  std::map<Run, std::string> names_;
  std::uint64_t generation_ = 0;
};

/// What a page is about, where that is not the run on screen.
struct PageSubject {
  std::string words;            // one line
  bool answers_request = true;  // to the rail's request; false = it has nothing to do with the rail
  std::optional<engine::ShapeSpec> shape{};  // of the request that it is about; none = not known
};

/// Read-only picture of the window's state for one frame.
struct SessionView {
  engine::RunRequest requested;  // what the rail shows: the user's, or that of the recorded run
  /// The run on screen; null = none yet. Immutable once published, so panels may cache what they
  /// derive from it, keyed by `run_generation`.
  std::shared_ptr<const profiling::RecordedRun> run;
  std::uint64_t run_generation = 0;  // changes whenever `run` does
  int expert = -1;                   // selected, in `run`; -1 = none
  int absent_expert = -1;            // selected, but not in `run`; -1 = none
  bool skip_throttled = false;       // a step's numbers leave out throttled iterations
  bool answers = false;              // `run` is what the rail asks for
  bool stale = false;                // the rail asks for something newer than the newest run
  bool arriving = false;   // only a part of `run` is there, without records, graph and fine maps
  bool from_file = false;  // what is on screen comes from the open recording
  bool recorded_request = false;  // `requested` is a recorded one, and cannot be changed
  /// Device and time of the recorded run, visit or comparison whose request the rail shows. Null
  /// and 0 = not known.
  std::shared_ptr<const engine::DeviceFacts> recorded_device{};
  std::int64_t recorded_at_ms = 0;  // Unix time
  std::vector<std::shared_ptr<const profiling::RecordedRun>>
      runs;  // all at hand: of this window, oldest first, then of the open recording
  std::size_t live_runs = 0;  // how many of them are of this window
  std::size_t run_index = 0;
  const RunNamesGiven* names = nullptr;  // since the runs were measured or read
  std::string session_path;              // of the open recording, on screen or not; empty = none
  std::vector<std::shared_ptr<const profiling::RecordedComparison>>
      comparisons;  // of recipes, live or of the recording, oldest first
  std::vector<std::shared_ptr<const profiling::RecordedComparison>>
      live_comparisons;                  // of this window, while a recording is on screen too
  std::optional<PageSubject> subject{};  // of the page; none = the run on screen
  bool recipes = false;                  // Numerics shows all recipes side by side, not the run
  bool comparing = false;                // one is in progress, or waits for the run before it
  std::string comparison_error;          // of the newest order; empty after a success
  bool compares_steps = false;           // the newest order is a comparison over steps
  std::vector<std::shared_ptr<const profiling::RecordedVisit>>
      visits;  // to the graph doctor, live or of the recording, oldest first
  DoctorState doctor{};
  LibraryFetch library{};
  const std::vector<profiling::TimeNote>* notes = nullptr;  // of `run`; null without one
  /// Frames drawn while `run` timed its iterations on this machine; -1 = elsewhere or not known.
  int frames_while_timing = -1;
  BatchStatus batch{};
  std::vector<std::shared_ptr<const profiling::RecordedRun>>
      second_runs{};          // of the second recording, for Compare
  std::string second_path{};  // empty = none
  LinkStatus link{};
  std::string host{};      // the other machine that the worker runs on; empty = this one
  bool no_worker = false;  // none is ever started in this window
  /// Why the user's request gives no run: what is wrong in it, else the newest error; empty = it
  /// may be run.
  std::string blocked{};
  std::optional<WorkerHello> hello{};

  /// Name that a person gave the run; empty = it is named by its settings.
  const std::string& name_of(const std::shared_ptr<const profiling::RecordedRun>& one) const {
    return names == nullptr ? one->name : names->of(one);
  }
  /// For a card that would mark the selected expert: "expert 12 is not in this run · ".
  std::string absent_note() const {
    return absent_expert < 0 ? std::string()
                             : "expert " + std::to_string(absent_expert) + " is not in this run · ";
  }
  /// Path of the recording on screen; empty = live.
  std::string path_on_screen() const { return from_file ? session_path : std::string(); }
};

}  // namespace app

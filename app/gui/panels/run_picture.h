// What the Performance page derives from the records of a run. Most derivations here visit all
// records, so they belong on a background thread; drawing only reads the results, which are
// immutable.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "app/controllers/background.h"
#include "app/gui/panels/iterations_card.h"
#include "app/gui/plot/bins.h"
#include "app/gui/plot/timeline_plot.h"
#include "app/plot/launch_tiles.h"
#include "profiling/power/power_refreshes.h"
#include "profiling/session/session_file.h"
#include "profiling/trace/replay_sums.h"
#include "profiling/trace/roofline.h"
#include "profiling/trace/stamped_spans.h"
#include "profiling/trace/statistics.h"

namespace app {

/// How much a run's derivations work through.
struct DerivationSize {
  std::size_t visited =
      0;                  // records, events, readings, iterations, nodes, timings, tiles and checks
  std::size_t cells = 0;  // of the node matrix and the strip of checks
};
DerivationSize derivation_size(const profiling::RecordedRun& run);

/// Runs of at most these sizes are derived in the frame in which they arrive, which takes well
/// under a millisecond: then a live drag shows its result at once.
inline constexpr std::size_t kVisitedAtOnce = 4096;
inline constexpr std::size_t kCellsAtOnce = std::size_t{1} << 16;
inline bool derived_at_once(const profiling::RecordedRun& run) {
  const DerivationSize size = derivation_size(run);
  return size.visited <= kVisitedAtOnce && size.cells <= kCellsAtOnce;
}

/// Makes it in this frame for a small run; else the task does, and the caller takes it from there.
template <class T, class Make>
std::optional<T> derive(const profiling::RecordedRun& run, BackgroundTask<T>& task, Make make) {
  if (!derived_at_once(run)) {
    task.start(std::move(make));
    return std::nullopt;
  }
  task.drop();
  return made_at_once(std::move(make));
}

/// Asks for ten frames per second while something is derived: long work must become visible even if
/// the mouse does not move.
class WorkPulse {
 public:
  bool due(bool working);

 private:
  std::chrono::steady_clock::time_point last_{};
};

/// Times of experts that were measured separately from the timed iterations.
struct MeasuredExperts {
  engine::ExpertMethod method = engine::ExpertMethod::Isolated;
  engine::Stage stage = engine::Stage::Fprop;
  engine::WrittenValue writes = engine::WrittenValue::Unknown;
  std::vector<profiling::ExpertTime> times;
};

using RecordedRunPointer = std::shared_ptr<const profiling::RecordedRun>;

/// What belongs to the whole run. Keeps the run, and so its records, alive.
struct RunPicture {
  RecordedRunPointer run;
  std::vector<profiling::ActivityRecord> spans;  // of the iterations
  profiling::EventSpans events;
  IterationSeries iterations;
  profiling::PowerRefreshes refreshes;
  std::vector<engine::Stage> expert_stages;  // the stages whose timed records name an expert
  bool names_experts = false;                // some record does, timed or not
  std::vector<MeasuredExperts> measured_experts;
  std::vector<plot::LaunchRows> launches;  // of Measurements::tiled_launches
  profiling::StampedSpans stamped;         // of the same
  std::vector<profiling::RooflinePoint> roofline;
  std::string unplaced;  // why its quantization is not on it; empty = it is, or there is none
  std::vector<engine::ExplainedOperation>
      operations;  // of the step, in the order of their launches
  profiling::WorkLabels names;
  plot::Range limits;  // of all records and events
  plot::Range timed;   // of those in iterations
  plot::Range step;    // of those in the iteration of median duration
};
std::shared_ptr<const RunPicture> make_run_picture(RecordedRunPointer run);

/// The timeline's lanes for one choice. Keeps the picture alive that they refer to.
struct LanePicture {
  std::shared_ptr<const RunPicture> run;
  plot::TimelineLanes lanes;
};
std::shared_ptr<const LanePicture> make_lanes(std::shared_ptr<const RunPicture> run,
                                              plot::LaneChoice choice);

struct StageSum {
  engine::Stage stage = engine::Stage::Other;
  double sum_ns = 0.0;
  std::size_t records = 0;
};

/// For a run, independent of the range: every record is visited once and not for each selection.
struct RunSums {
  std::vector<profiling::ReplaySum> replays;
  std::int64_t longest_ns = 0;  // of any record
};
using RunSumsPointer = std::shared_ptr<const RunSums>;

/// What depends on the timeline's selection.
struct RangePicture {
  RunSumsPointer sums;
  std::optional<plot::Range> range;  // none = all timed iterations
  std::vector<profiling::KernelSummary> kernels;
  std::vector<plot::Bins> bins;  // of the durations, one per kernel
  std::vector<StageSum> stage_sums;
  double total_ns = 0.0;
  std::size_t records = 0;
  std::optional<profiling::GapSummary>
      gaps;  // none = no complete replay, or not one record per node
  struct StageExperts {
    engine::Stage stage = engine::Stage::Other;
    std::vector<profiling::ExpertTime> times;
  };
  std::vector<StageExperts> experts;  // one per stage that names experts
};
/// The range of records that a selection on the time axis stands for; all time without one.
profiling::TimeRange time_range(const std::optional<plot::Range>& range);
/// Set-up and checks are left out unless they are selected. `sums`: those of another picture of
/// this run; null = they are made here. With them the cost depends only on the records in the
/// range.
std::shared_ptr<const RangePicture> make_range_picture(const profiling::RecordedRun& run,
                                                       std::optional<plot::Range> range,
                                                       RunSumsPointer sums = nullptr);

}  // namespace app

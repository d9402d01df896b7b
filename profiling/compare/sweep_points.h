// The runs of a sweep as accuracy against time, and which of them are not beaten in both by
// another of the same work on the same values.
#pragma once

#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/run_result.h"
#include "profiling/compare/time_difference.h"
#include "profiling/session/session_file.h"
#include "profiling/trace/statistics.h"

namespace profiling {

using RunList = std::vector<std::shared_ptr<const RecordedRun>>;

/// Runs that were measured together, in measurement order.
struct RunGroupMembers {
  GroupKind kind = GroupKind::None;
  std::int64_t id = 0;
  std::vector<std::size_t> runs;  // indices into the list
};
/// Groups in order of their first run in the list; runs without a group are left out.
std::vector<RunGroupMembers> groups_of(const RunList& runs);

/// Where a point stands among the points of the same work and seed.
enum class FrontierPlace {
  Off,        // another is at least as accurate, and faster
  Undecided,  // whether the fastest that is at least as accurate is faster or slower is not known
  On,
};
constexpr auto enum_names(FrontierPlace) {
  return std::to_array<std::string_view>({"no", "undecided", "yes"});
}

/// Why a point is undecided.
struct FrontierDoubt {
  std::size_t other = 0;  // the fastest of the others that are at least as accurate: an index
  std::string reason;     // TimeDifference::reason, which calls the points by their labels
};

struct SweepPoint {
  std::string label;
  Distribution time;           // of a step, ns; n = 0 without iterations
  TimeSamples samples;         // the same, in the order they were measured
  double worst_snr_db = 0.0;   // of any expert; +inf if all are exact, NaN if none has one
  double median_snr_db = 0.0;  // over experts that have one
  /// OperandStatistics::median_block_snr_db of X; NaN: nothing is quantized, or not measured.
  double typical_x_snr_db = std::numeric_limits<double>::quiet_NaN();
  std::uint64_t left_out = 0;                   // elements of all experts that their SNRs leave out
  FrontierPlace frontier = FrontierPlace::Off;  // set by mark_frontier(), like `doubt`
  std::optional<FrontierDoubt> doubt;
  engine::RunRequest request;
  std::string device;      // device_text() of the run
  std::string summary;     // of the request in words, where files should have it
  std::string work;        // equal for points that can beat each other: work and seed
  std::string unmeasured;  // why there are no numbers: the worker refused the run, or it failed
};
/// Several runs of one label (the blocks of a side) are not joined: one point per run.
SweepPoint sweep_point(const RecordedRun& run, engine::Product product);
/// The point of a planned run without numbers.
SweepPoint unmeasured_point(const engine::RunRequest& request, std::string label, std::string why);

enum class SnrChoice { Worst, Median };
double snr_of(const SweepPoint& point, SnrChoice choice);
/// Each point is compared with the fastest of the others of the same work and seed that are at
/// least as accurate: where time_difference() calls that one slower, or there is none, the point is
/// on the frontier, where faster, off it. kFalseVerdicts holds for all points of one work and seed
/// together. Points without a time or an SNR are off and beat nothing.
void mark_frontier(std::span<SweepPoint> points, SnrChoice choice);
/// Where the points are not all of one work and seed: that only those of one are compared. Else
/// empty.
std::string frontier_scope_words(std::span<const SweepPoint> points);
/// For the line of the frontier: no other of the same work and seed that is at least as accurate
/// has a shorter median.
bool has_shortest_median(const SweepPoint& point, std::span<const SweepPoint> points);
/// Sentences for the `doubt` of the point at `index`, which must be there; `name` and `other` are
/// what it and the other point are called.
std::string doubt_words(std::span<const SweepPoint> points, std::size_t index,
                        std::string_view name, std::string_view other);

}  // namespace profiling

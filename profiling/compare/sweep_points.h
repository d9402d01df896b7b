// The runs of a sweep as accuracy against time, and which of them are not beaten in both by
// another of the same work on the same values.
#pragma once

#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/model/run_result.h"
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

struct SweepPoint {
  std::string label;
  Distribution time;           // of a step, ns; n = 0 without iterations
  double worst_snr_db = 0.0;   // of any expert; +inf if all are exact, NaN if none has one
  double median_snr_db = 0.0;  // over experts that have one
  /// OperandStatistics::median_block_snr_db of X; NaN: nothing is quantized, or not measured.
  double typical_x_snr_db = std::numeric_limits<double>::quiet_NaN();
  std::uint64_t left_out = 0;  // elements of all experts that their SNRs leave out
  bool on_frontier = false;    // set by mark_frontier()
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
/// A point is on the frontier if no other of the same work and seed is at least as accurate and as
/// fast, and better in one of the two. Points without a time or an SNR are not on the frontier and
/// beat nothing.
void mark_frontier(std::span<SweepPoint> points, SnrChoice choice);

}  // namespace profiling

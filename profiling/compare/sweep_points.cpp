#include "profiling/compare/sweep_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "profiling/compare/run_comparison.h"
#include "profiling/compare/same_work.h"
#include "profiling/document/quantity.h"
#include "profiling/document/run_document.h"
#include "profiling/trace/statistics.h"

namespace profiling {

std::vector<RunGroupMembers> groups_of(const RunList& runs) {
  std::vector<RunGroupMembers> groups;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RunGroup& group = runs[i]->group;
    if (group.kind == GroupKind::None) continue;
    auto found = std::ranges::find_if(groups, [&](const RunGroupMembers& one) {
      return one.kind == group.kind && one.id == group.id;
    });
    if (found == groups.end()) {
      groups.push_back({.kind = group.kind, .id = group.id, .runs = {}});
      found = std::prev(groups.end());
    }
    found->runs.push_back(i);
  }
  for (RunGroupMembers& group : groups) {
    std::ranges::stable_sort(group.runs, {},
                             [&](std::size_t run) { return runs[run]->group.position; });
  }
  return groups;
}

SweepPoint sweep_point(const RecordedRun& run, engine::Product product) {
  SweepPoint point;
  point.label = run.group.label;
  point.request = run.request;
  point.device = device_text(run.result.device);
  // Another seed draws other values and splits: that is luck, not a choice.
  point.work = fmt::format("{} seed {}", work_text(run), run.result.effective.seed);
  point.samples = step_samples({&run});
  point.time = summarize(point.samples.durations_ns);
  std::vector<double> snr;
  for (std::size_t e = 0; e < run.result.experts.size(); ++e) {
    const engine::ProductAccuracy one = expert_accuracy(run, e, product);
    point.left_out += one.left_out();
    if (!std::isnan(one.snr_db)) snr.push_back(one.snr_db);
  }
  std::ranges::sort(snr);
  point.worst_snr_db = snr.empty() ? kNaN : snr.front();
  // Return equal middle values directly: the mean of two infinities may be NaN.
  const double low = snr.empty() ? kNaN : snr[(snr.size() - 1) / 2];
  const double high = snr.empty() ? kNaN : snr[snr.size() / 2];
  point.median_snr_db = low == high ? low : 0.5 * (low + high);
  if (const auto* x = engine::statistics_of(run.result, engine::StepTensor::X)) {
    point.typical_x_snr_db = x->median_block_snr_db;
  }
  return point;
}

SweepPoint unmeasured_point(const engine::RunRequest& request, std::string label, std::string why) {
  SweepPoint point;
  point.label = std::move(label);
  point.worst_snr_db = point.median_snr_db = kNaN;
  point.request = request;
  point.unmeasured = std::move(why);
  return point;
}

double snr_of(const SweepPoint& point, SnrChoice choice) {
  return choice == SnrChoice::Worst ? point.worst_snr_db : point.median_snr_db;
}

namespace {

/// The fastest of the others of the same work that are at least as accurate: what makes a point
/// superfluous unless it is faster.
std::optional<std::size_t> rival_of(std::span<const SweepPoint> points, std::size_t index,
                                    SnrChoice choice) {
  const SweepPoint& point = points[index];
  std::optional<std::size_t> rival;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const SweepPoint& other = points[i];
    if (i == index || other.time.n == 0 || other.work != point.work) continue;
    // A NaN is at least as accurate as nothing.
    if (!(snr_of(other, choice) >= snr_of(point, choice))) continue;
    if (!rival || other.time.median < points[*rival].time.median) rival = i;
  }
  return rival;
}

}  // namespace

void mark_frontier(std::span<SweepPoint> points, SnrChoice choice) {
  std::vector<std::optional<std::size_t>> rivals(points.size());
  std::map<std::string_view, std::size_t> verdicts;  // of every work
  for (std::size_t i = 0; i < points.size(); ++i) {
    SweepPoint& point = points[i];
    point.frontier = FrontierPlace::Off;
    point.doubt.reset();
    if (point.time.n == 0 || std::isnan(snr_of(point, choice))) continue;
    rivals[i] = rival_of(points, i, choice);
    if (rivals[i]) ++verdicts[point.work];
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    SweepPoint& point = points[i];
    if (point.time.n == 0 || std::isnan(snr_of(point, choice))) continue;
    point.frontier = FrontierPlace::On;
    if (!rivals[i]) continue;
    TimeDifference difference =
        time_difference(point.samples, points[*rivals[i]].samples, verdicts[point.work],
                        {.a = point.label, .b = points[*rivals[i]].label});
    if (difference.verdict == TimeVerdict::Slower) continue;
    if (difference.verdict == TimeVerdict::Faster) {
      point.frontier = FrontierPlace::Off;
      continue;
    }
    point.frontier = FrontierPlace::Undecided;
    point.doubt = {.other = *rivals[i], .reason = std::move(difference.reason)};
  }
}

std::string frontier_scope_words(std::span<const SweepPoint> points) {
  std::map<std::string_view, std::size_t> measured;  // points of every work
  for (const SweepPoint& point : points) {
    if (point.time.n > 0) ++measured[point.work];
  }
  if (measured.size() < 2) return {};
  const bool alone =
      std::ranges::all_of(measured, [](const auto& work) { return work.second == 1; });
  return fmt::format(
      "Points of another shape, routing or seed do other work and are not compared: {}.",
      alone ? "here every point is the only one of its work, so it is on the frontier"
            : fmt::format("each of the {} kinds has a frontier of its own", measured.size()));
}

bool has_shortest_median(const SweepPoint& point, std::span<const SweepPoint> points) {
  if (point.frontier != FrontierPlace::Undecided) return point.frontier == FrontierPlace::On;
  return points[point.doubt->other].time.median >= point.time.median;
}

std::string doubt_words(std::span<const SweepPoint> points, std::size_t index,
                        std::string_view name, std::string_view other) {
  const SweepPoint& point = points[index];
  const double theirs = points[point.doubt->other].time.median;
  // What was measured, not what may be: the reason says why that is no verdict.
  return fmt::format(
      "Undecided: {} is at least as accurate as {} and took {:.3f} of its time ({} against {}, "
      "medians). {}",
      other, name, theirs / point.time.median, duration_text(theirs),
      duration_text(point.time.median), point.doubt->reason);
}

}  // namespace profiling

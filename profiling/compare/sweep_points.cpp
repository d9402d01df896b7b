#include "profiling/compare/sweep_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "profiling/compare/run_comparison.h"
#include "profiling/compare/same_work.h"
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
  point.time = summarize(step_samples({&run}).durations_ns);
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

void mark_frontier(std::span<SweepPoint> points, SnrChoice choice) {
  const auto counts = [&](const SweepPoint& point) {
    return point.time.n > 0 && !std::isnan(snr_of(point, choice));
  };
  for (SweepPoint& point : points) {
    const double snr = snr_of(point, choice);
    point.on_frontier =
        counts(point) && std::ranges::none_of(points, [&](const SweepPoint& other) {
          if (!counts(other) || other.work != point.work) return false;
          const double other_snr = snr_of(other, choice);
          const bool no_worse = other_snr >= snr && other.time.median <= point.time.median;
          return no_worse && (other_snr > snr || other.time.median < point.time.median);
        });
  }
}

}  // namespace profiling

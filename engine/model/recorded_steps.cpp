#include "engine/model/recorded_steps.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/model/measurement.h"
#include "engine/model/run_result.h"

namespace engine {

double imbalance_of(std::span<const std::int64_t> splits) {
  const std::int64_t rows = std::accumulate(splits.begin(), splits.end(), std::int64_t{0});
  if (rows == 0) return std::numeric_limits<double>::quiet_NaN();
  const auto largest = static_cast<double>(*std::max_element(splits.begin(), splits.end()));
  return largest * static_cast<double>(splits.size()) / static_cast<double>(rows);
}

void add_times(std::span<const Iteration> iterations, std::vector<RecordedStep>& steps,
               int in_flight) {
  if (in_flight > 1) {
    for (RecordedStep& step : steps) step.visits = 0;
    const std::size_t runs = iterations.size() * static_cast<std::size_t>(in_flight);
    for (std::size_t run = 0; !steps.empty() && run < runs; ++run) {
      ++steps[run % steps.size()].visits;
    }
    return;
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::vector<double> durations;
    for (std::size_t at = i; at < iterations.size(); at += steps.size()) {
      durations.push_back(static_cast<double>(iterations[at].duration_ns));
    }
    RecordedStep& step = steps[i];
    step.visits = static_cast<int>(durations.size());
    if (durations.empty()) continue;
    std::sort(durations.begin(), durations.end());
    step.median_ns = quantile(durations, 0.5);
    step.p5_ns = quantile(durations, 0.05);
    step.p95_ns = quantile(durations, 0.95);
  }
}

std::vector<std::int64_t> mean_splits(const RunResult& result) {
  if (!result.recorded_routing) return result.splits;
  std::vector<double> sums(result.splits.size(), 0.0);
  double visits = 0.0;
  for (const RecordedStep& step : result.recorded_routing->steps) {
    visits += step.visits;
    for (std::size_t expert = 0; expert < std::min(sums.size(), step.splits.size()); ++expert) {
      sums[expert] += step.visits * static_cast<double>(step.splits[expert]);
    }
  }
  if (visits == 0.0) return result.splits;
  std::vector<std::int64_t> mean(sums.size());
  std::transform(sums.begin(), sums.end(), mean.begin(),
                 [visits](double sum) { return std::llround(sum / visits); });
  return mean;
}

std::vector<std::size_t> slowest_steps(const RecordedRouting& recorded, std::size_t most) {
  const std::vector<RecordedStep>& steps = recorded.steps;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    // A time that came over the wire may be anything.
    if (steps[i].visits > 0 && std::isfinite(steps[i].median_ns)) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return steps[a].median_ns > steps[b].median_ns;
  });
  order.resize(std::min(order.size(), most));
  return order;
}

}  // namespace engine

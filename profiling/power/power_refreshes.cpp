#include "profiling/power/power_refreshes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace profiling {
namespace {

/// With fewer, one refresh that found the same value would decide about the median.
constexpr std::size_t kLeastIntervals = 3;

/// The middle one, the upper of two; sorts in part.
std::int64_t upper_median(std::vector<std::int64_t>& values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

PowerRefreshes power_refreshes(std::span<const PowerSample> samples) {
  PowerRefreshes refreshes;
  std::vector<std::int64_t> between_refreshes;
  std::vector<std::int64_t> between_readings;
  const PowerSample* before = nullptr;
  std::int64_t refreshed_ns = 0;
  for (const PowerSample& sample : samples) {
    if (sample.power_w < 0) continue;
    if (before != nullptr) between_readings.push_back(sample.time_ns - before->time_ns);
    if (before == nullptr || sample.power_w != before->power_w) {
      // The first value was there before the first reading: nobody knows since when.
      if (refreshes.count > 1) between_refreshes.push_back(sample.time_ns - refreshed_ns);
      ++refreshes.count;
      refreshed_ns = sample.time_ns;
    }
    before = &sample;
  }
  if (between_refreshes.size() < kLeastIntervals) return refreshes;
  refreshes.interval_ns = upper_median(between_refreshes);
  // One and a half: readings come late now and then.
  refreshes.repeats = 2 * refreshes.interval_ns > 3 * upper_median(between_readings);
  return refreshes;
}

std::string refresh_interval_text(const PowerRefreshes& refreshes) {
  if (!refreshes.repeats) return {};
  // Two digits: the readings that see it are themselves tens of milliseconds apart.
  const double ms = static_cast<double>(refreshes.interval_ns) / 1e6;
  const double digit = std::pow(10.0, std::floor(std::log10(ms)) - 1.0);
  return fmt::format("about every {:g} ms", std::round(ms / digit) * digit);
}

}  // namespace profiling

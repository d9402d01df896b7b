#include "engine/quantize/channel_fold.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/quantize/statistics_fold.h"

namespace engine {
namespace {

using kernels::ChannelSums;
using kernels::LargestElement;

constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();

double share(double part, double all) { return all > 0.0 ? std::min(part / all, 1.0) : 0.0; }

/// One axis of an operand.
class Axis {
 public:
  /// `length`: elements of a channel.
  Axis(std::span<const ChannelSums> channels, std::size_t length)
      : channels_(channels), length_(static_cast<double>(length)) {}

  std::size_t size() const { return channels_.size(); }
  LargestElement largest(std::size_t channel) const {
    return LargestElement::unpacked(channels_[channel].largest);
  }
  double noise(std::size_t channel) const { return channels_[channel].noise; }
  double snr_db(std::size_t channel) const {
    const ChannelSums& sums = channels_[channel];
    // No element is left.
    if (static_cast<double>(sums.lost) + static_cast<double>(sums.undefined) >= length_) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    return engine::snr_db(sums.signal, sums.noise);
  }

  void fill_cells(ChannelProfile& profile) const {
    const std::size_t cells = std::min<std::size_t>(size(), kMaxChannelCells);
    for (auto* values : {&profile.amax, &profile.snr_db, &profile.saturated_share,
                         &profile.underflowed_share, &profile.lost_share}) {
      values->assign(cells, kNoNumber);
    }
    for (std::size_t channel = 0; channel < size(); ++channel) {
      const std::size_t cell = channel * cells / size();
      const ChannelSums& sums = channels_[channel];
      // Of a number and NaN these give the number.
      const auto raise = [cell](std::vector<float>& values, double value) {
        values[cell] = std::fmax(values[cell], static_cast<float>(value));
      };
      if (const LargestElement found = largest(channel); found.place >= 0) {
        raise(profile.amax, found.amax);
      }
      profile.snr_db[cell] = std::fmin(profile.snr_db[cell], static_cast<float>(snr_db(channel)));
      raise(profile.saturated_share, sums.saturated / length_);
      raise(profile.underflowed_share, sums.underflowed / length_);
      raise(profile.lost_share, sums.lost / length_);
    }
  }

  void fill_median(ChannelProfile& profile) const {
    std::vector<float> all;
    all.reserve(size());
    for (std::size_t channel = 0; channel < size(); ++channel) {
      if (const float amax = largest(channel).amax; amax > 0.0F) all.push_back(amax);
    }
    if (all.empty()) return;
    const auto middle = all.begin() + std::ssize(all) / 2;
    std::ranges::nth_element(all, middle);
    const double upper = *middle;
    // Between the middle two of an even number.
    const double lower =
        all.size() % 2 == 1 ? upper : static_cast<double>(*std::max_element(all.begin(), middle));
    profile.median_amax = (lower + upper) / 2.0;
    profile.outliers = std::ranges::count_if(
        all, [&](float amax) { return amax >= kOutlierFactor * profile.median_amax; });
  }

  /// Those for which before(a, b) is true come first.
  template <class Has, class Before>
  std::vector<std::size_t> worst(const Has& has, const Before& before) const {
    std::vector<std::size_t> numbers;
    for (std::size_t channel = 0; channel < size(); ++channel) {
      if (has(channel)) numbers.push_back(channel);
    }
    const auto end =
        numbers.begin() + static_cast<std::ptrdiff_t>(std::min(numbers.size(), kMaxNamedChannels));
    std::partial_sort(numbers.begin(), end, numbers.end(), [&](std::size_t a, std::size_t b) {
      if (before(a, b) != before(b, a)) return before(a, b);
      return a < b;
    });
    numbers.erase(end, numbers.end());
    return numbers;
  }

  Channel channel(std::size_t index, const ChannelStatistics& all) const {
    const ChannelSums& sums = channels_[index];
    const LargestElement found = largest(index);
    return {.index = static_cast<std::int64_t>(index),
            .amax = found.amax,
            .place = found.place,
            .snr_db = snr_db(index),
            .saturated = sums.saturated,
            .underflowed = sums.underflowed,
            .lost = sums.lost,
            .undefined = sums.undefined,
            .signal_share = share(sums.signal, all.signal),
            .noise_share = share(sums.noise, all.noise)};
  }

 private:
  std::span<const ChannelSums> channels_;
  double length_;
};

/// `expert_of`: of a channel that is filled.
template <class ExpertOf>
ChannelProfile profile_of(const Axis& axis, const ChannelStatistics& all,
                          const ExpertOf& expert_of) {
  ChannelProfile profile{.channels = static_cast<std::int64_t>(axis.size())};
  axis.fill_cells(profile);
  axis.fill_median(profile);
  const auto fill = [&](std::vector<Channel>& list, const auto& has, const auto& before) {
    for (const std::size_t index : axis.worst(has, before)) {
      Channel& one = list.emplace_back(axis.channel(index, all));
      if (one.place >= 0) one.expert = expert_of(one);
    }
  };
  const auto has_noise = [&](std::size_t channel) { return axis.noise(channel) > 0.0; };
  fill(
      profile.largest, [&](std::size_t channel) { return axis.largest(channel).amax > 0.0F; },
      [&](std::size_t a, std::size_t b) { return axis.largest(a).amax > axis.largest(b).amax; });
  fill(profile.noisiest, has_noise,
       [&](std::size_t a, std::size_t b) { return axis.noise(a) > axis.noise(b); });
  fill(profile.lowest_snr, has_noise,
       [&](std::size_t a, std::size_t b) { return axis.snr_db(a) < axis.snr_db(b); });
  return profile;
}

}  // namespace

ChannelStatistics fold_channels(std::span<const ChannelSums> columns,
                                std::span<const ChannelSums> rows,
                                std::span<const std::int64_t> splits) {
  ChannelStatistics statistics;
  for (const ChannelSums& column : columns) {
    statistics.signal += column.signal;
    statistics.noise += column.noise;
  }
  const auto expert_of = [&](std::int64_t row) {
    std::size_t expert = 0;
    while (expert + 1 < splits.size() && row >= splits[expert]) row -= splits[expert++];
    return static_cast<int>(expert);
  };
  statistics.columns = profile_of(Axis(columns, rows.size()), statistics,
                                  [&](const Channel& one) { return expert_of(one.place); });
  statistics.rows = profile_of(Axis(rows, columns.size()), statistics,
                               [&](const Channel& one) { return expert_of(one.index); });
  return statistics;
}

}  // namespace engine

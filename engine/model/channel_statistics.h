// Rows and columns (channels) of an operand: a profile along either axis, and the worst ones by
// name. An operand has too many for a recording to keep all.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/model/fields.h"
#include "engine/model/shape.h"

namespace engine {

inline constexpr int kMaxChannelCells = 512;          // of a profile
inline constexpr std::size_t kMaxNamedChannels = 16;  // of each list
inline constexpr double kOutlierFactor = 10.0;        // amax over the median from which it is one
inline constexpr double kMaxChannels = double{kMaxDimension} * kMaxExperts;

/// One row or column over all experts. Rows are those of the operand, experts' rows in their order.
struct Channel {
  std::int64_t index = 0;
  /// Whose row it is: the channel itself or, of a column, the one with its largest element. -1: no
  /// element is finite.
  int expert = -1;
  /// Largest |x| of finite elements, and where the first of this magnitude is: the row of a
  /// column's, the column of a row's. 0 and -1: no element is finite.
  double amax = 0.0;
  std::int64_t place = -1;
  double snr_db = std::numeric_limits<double>::quiet_NaN();  // as OperandStatistics::snr_db
  std::uint64_t saturated = 0;                               // as in OperandStatistics
  std::uint64_t underflowed = 0;
  std::uint64_t lost = 0;
  std::uint64_t undefined = 0;
  double signal_share = 0.0;  // of the operand's sum of x^2
  double noise_share = 0.0;   // of the operand's sum of (x - dequantized)^2
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&Channel::index>({.low = 0, .high = kMaxChannels}),
                      engine::field<&Channel::expert>({.low = -1, .high = kMaxExperts - 1}),
                      engine::field<&Channel::amax>(
                          {.low = 0, .high = double{std::numeric_limits<float>::max()}}),
                      engine::field<&Channel::place>({.low = -1, .high = kMaxChannels}),
                      engine::field<&Channel::snr_db>({.unit = "dB"}),
                      engine::field<&Channel::saturated>(kCount),
                      engine::field<&Channel::underflowed>(kCount),
                      engine::field<&Channel::lost>(kCount),
                      engine::field<&Channel::undefined>(kCount),
                      engine::field<&Channel::signal_share>({.low = 0, .high = 1}),
                      engine::field<&Channel::noise_share>({.low = 0, .high = 1})};
  }
};

/// All columns, or all rows. Channel i is in cell i * cells() / channels. A cell has the worst of
/// each number among its channels, so that one outlier shows however many share its cell; NaN where
/// no channel has that number.
struct ChannelProfile {
  std::int64_t channels = 0;
  /// Of the channels that are not all zeros; NaN: there is none.
  double median_amax = std::numeric_limits<double>::quiet_NaN();
  std::int64_t outliers = 0;       // channels with an amax of at least kOutlierFactor medians
  std::vector<float> amax = {};    // the largest
  std::vector<float> snr_db = {};  // the lowest
  std::vector<float> saturated_share = {};  // of a channel's elements, the largest: 0 to 1
  std::vector<float> underflowed_share = {};
  std::vector<float> lost_share = {};
  // The worst channels, the worst first; of equal ones the first of the operand. At most
  // kMaxNamedChannels, and none that does not have the number.
  std::vector<Channel> largest = {};     // by amax
  std::vector<Channel> noisiest = {};    // by noise_share, of those with noise
  std::vector<Channel> lowest_snr = {};  // of those with noise

  std::size_t cells() const { return amax.size(); }
  /// The first channel of a cell, or one past the last of the cell before: channels for cells().
  std::int64_t first_channel(std::size_t cell) const {
    const auto all = static_cast<std::int64_t>(cells());
    if (all == 0) return 0;
    return (static_cast<std::int64_t>(cell) * channels + all - 1) / all;
  }
  /// How many times the median of all channels: 1 is ordinary. NaN without a median.
  double over_median(const Channel& channel) const { return channel.amax / median_amax; }

  template <int = 0>
  static constexpr auto fields() {
    constexpr FieldRules kCells{.most = kMaxChannelCells};
    constexpr FieldRules kNamed{.most = kMaxNamedChannels};
    return std::array{engine::field<&ChannelProfile::channels>({.low = 0, .high = kMaxChannels}),
                      engine::field<&ChannelProfile::median_amax>(),
                      engine::field<&ChannelProfile::outliers>({.low = 0, .high = kMaxChannels}),
                      engine::field<&ChannelProfile::amax>(kCells),
                      engine::field<&ChannelProfile::snr_db>(kCells),
                      engine::field<&ChannelProfile::saturated_share>(kCells),
                      engine::field<&ChannelProfile::underflowed_share>(kCells),
                      engine::field<&ChannelProfile::lost_share>(kCells),
                      engine::field<&ChannelProfile::largest>(kNamed),
                      engine::field<&ChannelProfile::noisiest>(kNamed),
                      engine::field<&ChannelProfile::lowest_snr>(kNamed)};
  }
  Flaw flaw() const;
};

struct ChannelStatistics {
  double signal = 0.0;  // sum of x^2 over all but OperandStatistics::left_out()
  double noise = 0.0;   // sum of (x - dequantized)^2 over the same; 0 if nothing is quantized
  ChannelProfile columns = {};
  ChannelProfile rows = {};
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&ChannelStatistics::signal>(), engine::field<&ChannelStatistics::noise>(),
        engine::field<&ChannelStatistics::columns>(), engine::field<&ChannelStatistics::rows>()};
  }
  Flaw flaw() const;
};

}  // namespace engine

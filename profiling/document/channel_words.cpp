#include "profiling/document/channel_words.h"

#include <fmt/format.h>

#include <cmath>

#include "engine/model/count_text.h"
#include "profiling/document/columns.h"

namespace profiling {
namespace {

/// "Column", "columns"
std::string noun(ChannelAxis axis, bool capital, bool plural) {
  std::string word = axis == ChannelAxis::Columns ? "column" : "row";
  if (capital) word.front() = axis == ChannelAxis::Columns ? 'C' : 'R';
  return plural ? word + "s" : word;
}

std::string count(std::int64_t number) {
  return engine::count_text(static_cast<std::uint64_t>(number));
}

/// Up to this difference the SNR of some channels counts as that of the others.
constexpr double kSameSnrDb = 1.0;

/// Much noise is no sign of a loss: channels with large values have as much more of the signal.
/// Only their SNR against that of the others tells.
std::string noisiest_text(const engine::ChannelProfile& profile, ChannelAxis axis) {
  double noise = 0.0;
  double signal = 0.0;
  for (const engine::Channel& one : profile.noisiest) {
    noise += one.noise_share;
    signal += one.signal_share;
  }
  std::string text =
      fmt::format(" {} of {} {} {} {:.3g} % of the noise and {:.3g} % of the signal",
                  profile.noisiest.size(), count(profile.channels), noun(axis, false, true),
                  profile.noisiest.size() == 1 ? "has" : "have", 100.0 * noise, 100.0 * signal);
  const bool others = noise < 1.0 && signal < 1.0;
  if (!others || noise <= 0.0 || signal <= 0.0) return text + ".";
  const double below_db = 10.0 * std::log10(noise / (1.0 - noise) * (1.0 - signal) / signal);
  const bool one = profile.noisiest.size() == 1;
  if (std::abs(below_db) <= kSameSnrDb) {
    return text +
           fmt::format(": {} SNR equals that of the others within {:g} dB, so the loss is uniform.",
                       one ? "its" : "their", kSameSnrDb);
  }
  return text + fmt::format(": {} SNR is {:.3g} dB {} that of the others.", one ? "its" : "their",
                            std::abs(below_db), below_db > 0.0 ? "below" : "above");
}

}  // namespace

const engine::ChannelProfile& profile_of(const engine::ChannelStatistics& channels,
                                         ChannelAxis axis) {
  return axis == ChannelAxis::Columns ? channels.columns : channels.rows;
}

const std::vector<engine::Channel>& channels_of(const engine::ChannelProfile& profile,
                                                ChannelList list) {
  switch (list) {
    case ChannelList::Largest:
      return profile.largest;
    case ChannelList::Noisiest:
      return profile.noisiest;
    case ChannelList::LowestSnr:
      break;
  }
  return profile.lowest_snr;
}

std::string channels_text(const engine::ChannelProfile& profile, ChannelAxis axis) {
  if (profile.largest.empty() || std::isnan(profile.median_amax)) return {};
  const engine::Channel& largest = profile.largest.front();
  std::string text = fmt::format("{} {} reaches {:.4g}, {:.3g} times the median {}",
                                 noun(axis, true, false), count(largest.index), largest.amax,
                                 profile.over_median(largest), noun(axis, false, false));
  if (profile.outliers > 0) {
    text += fmt::format("; {} of {} {} reach{} {:g} times it", count(profile.outliers),
                        count(profile.channels), noun(axis, false, true),
                        profile.outliers == 1 ? "es" : "", engine::kOutlierFactor);
  }
  text += ".";
  return profile.noisiest.empty() ? text : text + noisiest_text(profile, axis);
}

Table named_channels_table(const engine::ChannelProfile& profile, ChannelAxis axis,
                           ChannelList list) {
  const bool columns = axis == ChannelAxis::Columns;
  return {
      .name = "channels",
      .columns = {column("index", Measure::Count, noun(axis, false, false)),
                  column("expert", Measure::Count, "expert",
                         columns ? "Expert of the row with its largest element"
                                 : "Expert that the row belongs to"),
                  column("amax", Measure::Number, "amax"),
                  column("over_median", Measure::Factor, "x median",
                         "Its amax over the median of all that are not zero"),
                  column("place", Measure::Count, columns ? "in row" : "in column",
                         "Where its largest element is"),
                  column("snr_db", Measure::Decibels, "SNR"),
                  column("noise_share", Measure::Share, "noise",
                         "Share of the operand's squared error"),
                  column("signal_share", Measure::Share, "signal",
                         "Share of the operand's sum of squares. Where it equals the share of the "
                         "noise, the SNR is that of the whole operand"),
                  column("saturated", Measure::Count, "satur."),
                  column("underflowed", Measure::Count, "underfl."),
                  column("lost", Measure::Count, "lost")},
      .rows = [&profile, list](const RowSink& sink) {
        for (const engine::Channel& one : channels_of(profile, list)) {
          const auto placed = [](std::int64_t at) { return at < 0 ? Cell() : Cell(at); };
          sink({.cells = cells_of(
                    one.index, placed(one.expert), one.amax, known(profile.over_median(one)),
                    placed(one.place), known(one.snr_db), one.noise_share, one.signal_share,
                    alarming(one.saturated), alarming(one.underflowed), alarming(one.lost))});
        }
      }};
}

}  // namespace profiling

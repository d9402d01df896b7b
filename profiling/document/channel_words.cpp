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
  double noise = 0.0;
  for (const engine::Channel& one : profile.noisiest) noise += one.noise_share;
  if (!profile.noisiest.empty()) {
    text += fmt::format(" {} of {} {} {} {:.3g} % of the noise.", profile.noisiest.size(),
                        count(profile.channels), noun(axis, false, true),
                        profile.noisiest.size() == 1 ? "has" : "have", 100.0 * noise);
  }
  return text;
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
                  column("saturated", Measure::Count, "satur."),
                  column("underflowed", Measure::Count, "underfl."),
                  column("lost", Measure::Count, "lost"),
                  column("signal_share", Measure::Share, "signal",
                         "Share of the operand's sum of squares", ColumnUse::WideViews)},
      .rows = [&profile, list](const RowSink& sink) {
        for (const engine::Channel& one : channels_of(profile, list)) {
          const auto placed = [](std::int64_t at) { return at < 0 ? Cell() : Cell(at); };
          sink({.cells = cells_of(
                    one.index, placed(one.expert), one.amax, known(profile.over_median(one)),
                    placed(one.place), known(one.snr_db), one.noise_share, alarming(one.saturated),
                    alarming(one.underflowed), alarming(one.lost), one.signal_share)});
        }
      }};
}

}  // namespace profiling

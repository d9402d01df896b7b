#include "profiling/document/channel_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <ranges>
#include <utility>

#include "engine/model/count_text.h"
#include "engine/model/recipe_words.h"
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

/// Words that depend on whether a table has rows, columns or both.
struct ChannelHeadings {
  std::string index;
  const char* expert = "";  // tooltip
  std::string place;
};

std::vector<Column> channel_columns(ChannelHeadings words) {
  return {column("index", Measure::Count, std::move(words.index)),
          column("expert", Measure::Count, "expert", words.expert),
          column("amax", Measure::Number, "amax"),
          column("over_median", Measure::Factor, "x median",
                 "Its amax over the median of all that are not zero"),
          column("place", Measure::Count, std::move(words.place), "Where its largest element is"),
          column("snr_db", Measure::Decibels, "SNR"),
          column("noise_share", Measure::Share, "noise", "Share of the operand's squared error"),
          column("signal_share", Measure::Share, "signal",
                 "Share of the operand's sum of squares. Where it equals the share of the noise, "
                 "the SNR is that of the whole operand"),
          column("saturated", Measure::Count, "satur."),
          column("underflowed", Measure::Count, "underfl."),
          column("lost", Measure::Count, "lost")};
}

std::vector<Cell> channel_cells(const engine::ChannelProfile& profile, const engine::Channel& one) {
  const auto placed = [](std::int64_t at) { return at < 0 ? Cell() : Cell(at); };
  return cells_of(one.index, placed(one.expert), one.amax, known(profile.over_median(one)),
                  placed(one.place), known(one.snr_db), one.noise_share, one.signal_share,
                  alarming(one.saturated), alarming(one.underflowed), alarming(one.lost));
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
  return {.name = "channels",
          .columns = channel_columns({.index = noun(axis, false, false),
                                      .expert = columns ? "Expert of the row with its largest "
                                                          "element"
                                                        : "Expert that the row belongs to",
                                      .place = columns ? "in row" : "in column"}),
          .rows = [&profile, list](const RowSink& sink) {
            for (const engine::Channel& one : channels_of(profile, list)) {
              sink({.cells = channel_cells(profile, one)});
            }
          }};
}

Table worst_channels_table(const engine::RecipeComparison& comparison) {
  std::vector<Column> columns = {
      column("recipe", Measure::Words, {}, "How the operand is coded"),
      column("direction", Measure::Words, {}, "Of the blocks"),
      column("axis", Measure::Words, "of", "A row, or a column over all experts")};
  std::ranges::move(channel_columns({.index = "number",
                                     .expert = "Expert of the row, or of the row with the column's "
                                               "largest element",
                                     .place = "largest at"}),
                    std::back_inserter(columns));
  return {.name = "worst_channels",
          .title = fmt::format("The {} columns and the {} rows with most of the noise:",
                               kWorstChannels, kWorstChannels),
          .columns = std::move(columns),
          .rows =
              [&comparison](const RowSink& sink) {
                for (const engine::QuantizationReport& report : comparison.reports) {
                  if (!report.statistics.channels) continue;
                  for (const ChannelAxis axis : {ChannelAxis::Columns, ChannelAxis::Rows}) {
                    const engine::ChannelProfile& profile =
                        profile_of(*report.statistics.channels, axis);
                    for (const engine::Channel& one :
                         profile.noisiest | std::views::take(kWorstChannels)) {
                      Row row{.cells = cells_of(
                                  engine::recipe_name(report.recipe, comparison.request.weights),
                                  report.columnwise ? "columnwise" : "rowwise",
                                  noun(axis, false, false))};
                      std::ranges::move(channel_cells(profile, one), std::back_inserter(row.cells));
                      sink(row);
                    }
                  }
                }
              },
          .note =
              "number counts from 0; largest at: the row of a column's largest element, the "
              "column of a row's",
          .only_with_rows = true};
}

}  // namespace profiling

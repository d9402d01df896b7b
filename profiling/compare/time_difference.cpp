// The verdict runs every check that could rule it out, the simplest first, and names the one that
// failed.
#include "profiling/compare/time_difference.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "profiling/trace/statistics.h"

namespace profiling {

namespace {

/// Twice the midranks, so that ties stay integers.
std::vector<std::size_t> doubled_ranks(std::span<const double> a, std::span<const double> b) {
  std::vector<double> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  std::vector<double> sorted = all;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::size_t> ranks;
  for (const double value : all) {
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), value);
    ranks.push_back(static_cast<std::size_t>((first - sorted.begin()) + (last - sorted.begin())) +
                    1);
  }
  return ranks;
}

}  // namespace

double rank_sum_p(std::span<const double> a, std::span<const double> b) {
  const std::size_t n = a.size() + b.size();
  if (a.empty() || b.empty() || n > kMaxRankedBlocks) return 1.0;
  const std::vector<std::size_t> ranks = doubled_ranks(a, b);
  std::size_t sum_all = 0;
  std::size_t sum_a = 0;
  for (std::size_t i = 0; i < n; ++i) {
    sum_all += ranks[i];
    if (i < a.size()) sum_a += ranks[i];
  }
  // ways[k][s]: choices of k ranks that sum to s.
  std::vector<std::vector<double>> ways(a.size() + 1, std::vector<double>(sum_all + 1, 0.0));
  ways[0][0] = 1.0;
  for (const std::size_t rank : ranks) {
    for (std::size_t k = a.size(); k > 0; --k) {
      for (std::size_t s = sum_all; s >= rank; --s) ways[k][s] += ways[k - 1][s - rank];
    }
  }
  double all = 0.0;
  double low = 0.0;
  double high = 0.0;
  for (std::size_t s = 0; s <= sum_all; ++s) {
    const double count = ways[a.size()][s];
    all += count;
    if (s <= sum_a) low += count;
    if (s >= sum_a) high += count;
  }
  return std::min(1.0, 2.0 * std::min(low, high) / all);
}

namespace {

// NVML's clock steps are 15 MHz, about 1 % of a busy SM clock: a difference of one step is noise.
constexpr double kClockTolerance = 0.02;

struct Blocks {
  std::vector<double> medians;
  std::vector<double> odd;  // samples of the first, third, ... block
  std::vector<double> even;
};

Blocks blocks_of(const TimeSamples& samples) {
  Blocks blocks;
  for (std::size_t i = 0; i < samples.blocks.size(); ++i) {
    const std::size_t end =
        i + 1 < samples.blocks.size() ? samples.blocks[i + 1] : samples.durations_ns.size();
    const std::size_t begin = std::min(samples.blocks[i], end);
    const std::span<const double> block =
        std::span(samples.durations_ns).subspan(begin, end - begin);
    if (block.empty()) continue;
    std::vector<double>& half = blocks.medians.size() % 2 == 0 ? blocks.odd : blocks.even;
    half.insert(half.end(), block.begin(), block.end());
    blocks.medians.push_back(quantile(block, 0.5));
  }
  return blocks;
}

double size_of(double ratio) { return std::abs(std::log(ratio)); }

/// 1 if it is unknown or did not differ.
double clock_ratio_of(const TimeSamples& a, const TimeSamples& b) {
  if (a.sm_clock_mhz <= 0.0 || b.sm_clock_mhz <= 0.0) return 1.0;
  const double ratio = a.sm_clock_mhz / b.sm_clock_mhz;
  return std::abs(ratio - 1.0) > kClockTolerance ? ratio : 1.0;
}

/// What the clocks of two runs, measured one after the other, can have done to their times.
struct ClockEffect {
  double size = 0.0;   // |log ratio| at most, in the direction of the difference
  std::string caveat;  // a sentence for the verdict; empty if there is no effect
};

ClockEffect clock_effect(double ratio, double clock_ratio, const TimeSamples& a,
                         const TimeSamples& b, const SideNames& names) {
  ClockEffect effect;
  if (clock_ratio != 1.0) {
    const bool same_direction = (clock_ratio < 1.0) == (ratio < 1.0);
    const std::string clocks = fmt::format("{:.0f} MHz for {} and {:.0f} MHz for {}",
                                           a.sm_clock_mhz, names.a, b.sm_clock_mhz, names.b);
    if (same_direction) effect.size = size_of(clock_ratio);
    effect.caveat = same_direction
                        ? fmt::format(" At most {:.1f} % can be the SM clock: {}.",
                                      100.0 * std::abs(clock_ratio - 1.0), clocks)
                        : fmt::format(" The SM clock differed the other way: {}.", clocks);
  }
  const bool clocks_known = a.sm_clock_mhz > 0.0 && b.sm_clock_mhz > 0.0;
  if (clocks_known && a.clock_reasons != b.clock_reasons && effect.size == 0.0) {
    const bool one_side = (a.clock_reasons == 0) != (b.clock_reasons == 0);
    effect.size = size_of(1.0 + kClockTolerance);
    effect.caveat += fmt::format(" The clock was throttled for {}; at most {:.0f} % can be that.",
                                 one_side ? "one side only" : "different reasons on both sides",
                                 100.0 * kClockTolerance);
  }
  return effect;
}

/// Whether every ratio of the interval differs from 1 by more than `size`, in one direction.
bool lies_beyond(const Interval& interval, double size) {
  return interval.high < std::exp(-size) || interval.low > std::exp(size);
}

/// The interval of the ratio of medians. Each median takes half of the error probability.
Interval ratio_interval(const TimeSamples& a, const TimeSamples& b, double wrong) {
  const Interval of_a = median_interval(a.durations_ns, 1.0 - wrong / 2.0);
  const Interval of_b = median_interval(b.durations_ns, 1.0 - wrong / 2.0);
  return {of_b.low / of_a.high, of_b.high / of_a.low};
}

/// Fewest samples with an interval at this error probability.
std::size_t samples_for(double wrong) {
  std::size_t n = 1;
  while (engine::median_interval_rank(n, wrong / 2.0) == 0) ++n;
  return n;
}

std::string among(std::size_t rows) {
  return rows > 1 ? fmt::format(" among {} rows", rows) : std::string();
}

/// A reason against a verdict; `kind` is None if there is no such reason.
struct Doubt {
  TimeDoubt kind = TimeDoubt::None;
  std::string sentence;
  std::size_t needed = 0;  // samples of each side
  std::string unmet = {};  // see TimeDifference
};

/// Both with as many digits as it takes to see which is larger: two would print 0.0104 and 0.01
/// alike.
std::pair<std::string, std::string> told_apart(double larger, double smaller) {
  constexpr int kMostDigits = std::numeric_limits<double>::max_digits10;
  for (int digits = 2;; ++digits) {
    std::pair<std::string, std::string> texts{fmt::format("{:.{}g}", larger, digits),
                                              fmt::format("{:.{}g}", smaller, digits)};
    if (texts.first != texts.second || digits == kMostDigits) return texts;
  }
}

Doubt block_doubt(const TimeDifference& difference, const Blocks& a, const Blocks& b,
                  std::size_t rows) {
  const std::size_t blocks = a.medians.size() + b.medians.size();
  const std::size_t fewest = fewest_blocks(rows);
  if (std::min(a.medians.size(), b.medians.size()) < fewest / 2) {
    return {TimeDoubt::FewBlocks,
            fmt::format("{} blocks are too few to distinguish a difference{} from drift; take at "
                        "least {}.",
                        blocks, among(rows), fewest)};
  }
  const double wrong = kFalseVerdicts / static_cast<double>(rows);
  if (difference.block_p > wrong) {
    const auto [p, limit] = told_apart(difference.block_p, wrong);
    return {
        TimeDoubt::BlocksMix,
        fmt::format("The blocks of A and B overlap: equal settings would order them like this, or "
                    "more clearly, with probability p = {} (rank-sum test), and a verdict{} "
                    "needs p of at most {}.",
                    p, among(rows), limit),
        0, fmt::format("p {} > {}", p, limit)};
  }
  if (size_of(difference.control_ratio) >= size_of(difference.ratio)) {
    return {TimeDoubt::OwnDifference,
            fmt::format("A differs as much from itself: odd and even blocks of A have the ratio "
                        "{:.3f}.",
                        difference.control_ratio),
            0, "A varies as much"};
  }
  return {};
}

/// Why there is no ratio or no interval of it.
Doubt missing_ratio(const TimeDifference& difference, const SideNames& names = {}) {
  if (difference.n_a == 0 && difference.n_b == 0) {
    return {TimeDoubt::NoRatio, "Neither side has samples."};
  }
  if (difference.n_a == 0 || difference.n_b == 0) {
    return {TimeDoubt::NoRatio,
            fmt::format("{} has no samples.", difference.n_a == 0 ? names.a : names.b)};
  }
  if (!(difference.ratio > 0.0) || std::isinf(difference.ratio)) {
    return {TimeDoubt::NoRatio, "There is no ratio: a median is 0 or not a number."};
  }
  if (std::isnan(difference.interval.low) || std::isnan(difference.interval.high)) {
    const std::size_t needed = samples_for(1.0 - kConfidence);
    return {TimeDoubt::FewSamples,
            fmt::format("{} and {} samples are too few for an interval; take at least {} of each.",
                        difference.n_a, difference.n_b, needed),
            needed};
  }
  return {};
}

Doubt contains_one(const Interval& interval) {
  return {TimeDoubt::HoldsOne, fmt::format("The interval {:.3f} to {:.3f} of the ratio contains 1.",
                                           interval.low, interval.high)};
}

/// Doubt about two runs that were measured one after the other.
Doubt run_doubt(const TimeDifference& difference, const TimeSamples& a, const TimeSamples& b,
                std::size_t rows, const SideNames& names) {
  const double wrong = kFalseVerdicts / static_cast<double>(rows);
  const Interval sure = ratio_interval(a, b, wrong);
  if (std::isnan(sure.low) || std::isnan(sure.high)) {
    const std::size_t needed = fewest_samples(rows);
    return {TimeDoubt::FewSamples,
            fmt::format("{} and {} samples are too few for a verdict{}; take at least {} of each.",
                        difference.n_a, difference.n_b, among(rows), needed),
            needed};
  }
  if (sure.contains(1.0)) {
    return {TimeDoubt::HoldsOne,
            fmt::format("A verdict{} needs an interval at {:.6g} %, {:.3f} to {:.3f}, which "
                        "contains 1.",
                        among(rows), 100.0 * (1.0 - wrong), sure.low, sure.high),
            0, fmt::format("1 is inside at {:.6g} %", 100.0 * (1.0 - wrong))};
  }
  const ClockEffect clock = clock_effect(difference.ratio, difference.clock_ratio, a, b, names);
  if (!lies_beyond(sure, clock.size)) {
    return {TimeDoubt::Clock,
            fmt::format("A verdict{} needs an interval at {:.6g} %, {:.3f} to {:.3f}, which does "
                        "not lie beyond what the SM clock can explain.{} Measure them again, "
                        "interleaved.",
                        among(rows), 100.0 * (1.0 - wrong), sure.low, sure.high, clock.caveat),
            0, "SM clock"};
  }
  return {};
}

Doubt doubt(const TimeDifference& difference, const TimeSamples& a, const TimeSamples& b,
            std::size_t rows, const SideNames& names) {
  if (Doubt missing = missing_ratio(difference, names); missing.kind != TimeDoubt::None) {
    return missing;
  }
  if (difference.interval.contains(1.0)) return contains_one(difference.interval);
  const bool interleaved = !a.blocks.empty() && !b.blocks.empty();
  return interleaved ? block_doubt(difference, blocks_of(a), blocks_of(b), rows)
                     : run_doubt(difference, a, b, rows, names);
}

/// A machine that changes this much within one side is worth a word beside any verdict.
std::string control_caveat(double control_ratio) {
  constexpr double kQuiet = 0.05;
  if (!(size_of(control_ratio) > std::log1p(kQuiet))) return {};
  return fmt::format(" The machine is noisy: A's own even blocks take {:.3f} of its odd ones.",
                     control_ratio);
}

/// Decides unless there is a doubt.
void decide(TimeDifference& difference, const Doubt& doubt, const std::string& based_on) {
  difference.verdict = difference.ratio < 1.0 ? TimeVerdict::Faster : TimeVerdict::Slower;
  if (doubt.kind != TimeDoubt::None) difference.verdict = TimeVerdict::Ambiguous;
  if (difference.n_a == 0 && difference.n_b > 0) difference.verdict = TimeVerdict::OnlyB;
  if (difference.n_b == 0 && difference.n_a > 0) difference.verdict = TimeVerdict::OnlyA;
  const bool ambiguous = difference.verdict == TimeVerdict::Ambiguous;
  difference.doubt = ambiguous ? doubt.kind : TimeDoubt::None;
  difference.needed = ambiguous ? doubt.needed : 0;
  difference.unmet = ambiguous ? doubt.unmet : std::string();
  difference.reason = doubt.kind == TimeDoubt::None ? based_on : doubt.sentence;
}

}  // namespace

std::size_t fewest_blocks(std::size_t rows) {
  // Two orders of n + n blocks, of (2 n choose n), separate A from B.
  const double wrong = kFalseVerdicts / static_cast<double>(std::max<std::size_t>(rows, 1));
  double orders = 2.0;
  std::size_t n = 1;
  while (2.0 / orders > wrong && 2 * n < kMaxRankedBlocks) {
    ++n;
    orders *= 2.0 * static_cast<double>(2 * n - 1) / static_cast<double>(n);
  }
  return 2 * n;
}

std::size_t fewest_samples(std::size_t rows) {
  return samples_for(kFalseVerdicts / static_cast<double>(std::max<std::size_t>(rows, 1)));
}

TimeDifference time_difference(const TimeSamples& a, const TimeSamples& b, std::size_t rows,
                               const SideNames& names) {
  TimeDifference difference;
  difference.n_a = a.durations_ns.size();
  difference.n_b = b.durations_ns.size();
  difference.median_a = quantile(a.durations_ns, 0.5);
  difference.median_b = quantile(b.durations_ns, 0.5);
  difference.ratio = difference.median_b / difference.median_a;
  difference.interval = ratio_interval(a, b, 1.0 - kConfidence);
  difference.control_ratio = kNaN;
  if (!a.blocks.empty() && !b.blocks.empty()) {
    const Blocks blocks = blocks_of(a);
    difference.control_ratio = quantile(blocks.even, 0.5) / quantile(blocks.odd, 0.5);
    difference.block_p = rank_sum_p(blocks.medians, blocks_of(b).medians);
  } else {
    difference.clock_ratio = clock_ratio_of(a, b);
  }
  decide(difference, doubt(difference, a, b, rows, names),
         fmt::format(
             "{} takes {:.1f} % {} time than {}: {:.3f} to {:.3f} of {}'s median at {:.0f} %.{}",
             names.b, 100.0 * std::abs(difference.ratio - 1.0),
             difference.ratio < 1.0 ? "less" : "more", names.a, difference.interval.low,
             difference.interval.high, names.a, 100.0 * kConfidence,
             a.blocks.empty() || b.blocks.empty()
                 ? clock_effect(difference.ratio, difference.clock_ratio, a, b, names).caveat
                 : control_caveat(difference.control_ratio)));
  return difference;
}

TimeDifference spread_difference(const SampleSummary& a, const SampleSummary& b) {
  TimeDifference difference;
  difference.n_a = a.n;
  difference.n_b = b.n;
  difference.median_a = a.n > 0 ? a.median : kNaN;
  difference.median_b = b.n > 0 ? b.median : kNaN;
  difference.ratio = difference.median_b / difference.median_a;
  difference.control_ratio = kNaN;
  const std::size_t fewest = samples_for(1.0 - kConfidence);
  const bool enough = a.n >= fewest && b.n >= fewest;
  difference.interval = enough ? Interval{b.p5 / a.p95, b.p95 / a.p5} : Interval{kNaN, kNaN};
  Doubt found = missing_ratio(difference);
  if (found.kind == TimeDoubt::None && difference.interval.contains(1.0)) {
    found = contains_one(difference.interval);
  }
  decide(difference, found,
         fmt::format("The spreads p5 to p95 do not overlap: {:.3f} to {:.3f} of A.",
                     difference.interval.low, difference.interval.high));
  return difference;
}

std::string TimeDifference::verdict_words() const {
  if (verdict == TimeVerdict::SameStep) return std::string(kSameStep);
  const bool both = n_a > 0 && n_b > 0 && comparable();
  return fmt::format("{}{}", both ? "B is " : "", engine::name_of(verdict));
}

}  // namespace profiling

// Which of two sets of durations is shorter, and whether the difference is significant. No CUDA.
//
// Interval of the ratio of two medians: each median takes half of the error (Bonferroni), so that
// [low B / high A, high B / low A] holds the ratio with at least kConfidence. It is exact for
// independent samples, needs no random numbers, and is wider than a bootstrap's, never narrower.
//
// Iterations of one run are not independent of each other: clocks and caches drift. If a
// measurement interleaved A and B in blocks, the medians of the blocks are compared as well, by the
// exact rank-sum test (Mann and Whitney 1947): it assumes only that the blocks of equal settings
// could have come in any order.
//
// Rows that are looked at together (stages, kernels, experts) share one probability of a false
// verdict: each row takes an equal part of it (Bonferroni). A clock that differs between two runs
// explains at most its own ratio (time is at most inversely proportional to it): what lies beyond
// that is a difference.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/median_interval.h"

namespace profiling {

using engine::Interval;
using engine::median_interval;

/// Two-sided exact p of the rank-sum test between two small groups; ties get midranks and are
/// counted exactly. 1 if a group is empty or the two together exceed kMaxRankedBlocks.
inline constexpr std::size_t kMaxRankedBlocks = 64;
double rank_sum_p(std::span<const double> a, std::span<const double> b);

using engine::kConfidence;
/// Largest probability that equal settings are called faster or slower: for a step, and for all
/// rows of one table together.
/// spread_difference() makes no such promise.
inline constexpr double kFalseVerdicts = 0.01;

/// Fewest blocks of A and B together that can give a verdict on one of `rows`; even.
std::size_t fewest_blocks(std::size_t rows = 1);
/// Fewest samples of each side that can give a verdict on one of `rows`, without blocks.
std::size_t fewest_samples(std::size_t rows = 1);

/// Durations of one side in ns, and the conditions under which they were taken; -1 and 0 = unknown.
struct TimeSamples {
  std::vector<double> durations_ns;
  /// Start of each block of an interleaved measurement in durations_ns; empty = one block.
  std::vector<std::size_t> blocks = {};
  double sm_clock_mhz = -1.0;       // median while they were taken
  std::uint64_t clock_reasons = 0;  // NVML's throttle bits seen during that time
};

enum class TimeVerdict {
  Faster,     // B takes less time than A
  Slower,     // B takes more time
  Ambiguous,  // undecided, see `reason`
  OnlyA,      // B has no samples
  OnlyB,
  DifferentWork,     // the runs did different work: profiling/compare/same_work.h
  DifferentDevices,  // the runs had different devices
  SameStep,          // requests differ, what ran does not
};
constexpr auto enum_names(TimeVerdict) {
  return std::to_array<std::string_view>({"faster", "slower", "ambiguous", "only in A", "only in B",
                                          "different work", "different devices", "same step"});
}

/// Why there is no verdict, in a few words; the sentence has the numbers.
enum class TimeDoubt {
  None,
  NoRatio,
  FewSamples,
  FewBlocks,
  HoldsOne,
  BlocksMix,
  OwnDifference,
  Clock,
  SameSettings,
  OtherRows,
};
constexpr auto enum_names(TimeDoubt) {
  return std::to_array<std::string_view>(
      {"", "no ratio", "too few samples", "too few blocks", "the interval contains 1",
       "the blocks of A and B mix", "A differs as much from itself", "the SM clock can explain it",
       "same settings", "launches of other rows"});
}

inline constexpr std::string_view kSameStep = "A and B ran the same step";

struct TimeDifference {
  std::size_t n_a = 0;
  std::size_t n_b = 0;
  double median_a = 0.0;  // ns; NaN without samples
  double median_b = 0.0;
  double ratio = 0.0;      // median B / median A; NaN if undefined
  Interval interval = {};  // of the ratio
  /// A's odd blocks against its even ones, as B / A; NaN without blocks. What a difference must
  /// exceed.
  double control_ratio = 0.0;
  double block_p = 1.0;  // of the block medians; 1 without blocks
  /// B / A if the times only followed the SM clock; 1 if it did not differ, was not measured, or
  /// the blocks were interleaved: a different clock is then an effect of B.
  double clock_ratio = 1.0;
  TimeVerdict verdict = TimeVerdict::Ambiguous;
  TimeDoubt doubt = TimeDoubt::None;
  std::size_t needed = 0;  // samples of each side, where there are too few; else 0
  std::string reason;      // a sentence: why it is ambiguous, or what the verdict is based on
  /// In few words, what it takes beyond an interval that excludes 1: "p 0.021 > 0.01". Only where
  /// that is why it is ambiguous.
  std::string unmet;
  bool decided() const { return verdict == TimeVerdict::Faster || verdict == TimeVerdict::Slower; }
  /// Whether a verdict on a setting is possible at all.
  bool comparable() const {
    return verdict != TimeVerdict::DifferentWork && verdict != TimeVerdict::DifferentDevices &&
           verdict != TimeVerdict::SameStep;
  }
  /// "B is faster", "different work", "A and B ran the same step"; the reason comes after it.
  std::string verdict_words() const;
};

/// What sentences call the two.
struct SideNames {
  std::string_view a = "A";
  std::string_view b = "B";
};

/// `rows` = how many differences are looked at together, this one included.
TimeDifference time_difference(const TimeSamples& a, const TimeSamples& b, std::size_t rows = 1,
                               const SideNames& names = {});

/// Summary of samples that were not kept. Durations in ns.
struct SampleSummary {
  std::size_t n = 0;
  double median = 0.0;
  double p5 = 0.0;
  double p95 = 0.0;
};

/// Verdict without samples: the interval is that of every ratio between the two spreads, p5 B / p95
/// A to p95 B / p5 A, which is wider than any interval of the medians' ratio.
TimeDifference spread_difference(const SampleSummary& a, const SampleSummary& b);

}  // namespace profiling

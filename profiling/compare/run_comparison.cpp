// One pass over the records of each run; only records within timed iterations count.
#include "profiling/compare/run_comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "engine/model/leaves.h"
#include "engine/model/run_request.h"
#include "engine/program/operation_words.h"
#include "profiling/compare/same_work.h"
#include "profiling/compare/withdrawn_verdicts.h"
#include "profiling/power/power_summary.h"
#include "profiling/power/step_times.h"
#include "profiling/trace/statistics.h"

namespace profiling {

namespace {

using Leaves = engine::LeafTexts;

Leaves device_leaves(const engine::RunResult& result) {
  Leaves leaves = engine::leaf_texts(result.device);
  leaves["iteration_method"] = result.iteration_method;
  leaves["activity_method"] = result.activity_method;
  leaves["emulated"] = result.emulated.empty() ? "no" : result.emulated;
  return leaves;
}

/// `listed`: fields that are listed also where they are equal.
void compare(const char* group, const Leaves& a, const Leaves& b,
             const std::set<std::string>& listed, SettingsDifference& difference) {
  const auto value = [](const Leaves& leaves, const std::string& key) {
    const auto found = leaves.find(key);
    return found == leaves.end() ? std::string("absent") : found->second;
  };
  Leaves all = a;
  all.insert(b.begin(), b.end());
  for (const auto& [field, unused] : all) {
    SettingsRow row{group, field, value(a, field), value(b, field)};
    const bool same = row.a == row.b;
    if (same) ++difference.same;
    if (!same || listed.contains(field)) difference.rows.push_back(std::move(row));
  }
}

}  // namespace

std::size_t SettingsDifference::differing() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(rows, [](const SettingsRow& row) { return row.a != row.b; }));
}

bool SettingsDifference::only_requested() const {
  // An effective setting that differs as it was requested is listed as requested.
  return !rows.empty() && std::ranges::all_of(rows, [this](const SettingsRow& row) {
    if (row.a == row.b) return true;
    return row.group == "requested" && std::ranges::any_of(rows, [&row](const SettingsRow& other) {
             return other.group == "effective" && other.field == row.field && other.a == other.b;
           });
  });
}

SettingsDifference settings_difference(const RecordedRun& a, const RecordedRun& b) {
  SettingsDifference difference{.rows = {},
                                .same = 0,
                                .deviations_a = a.result.deviations,
                                .deviations_b = b.result.deviations};
  compare("requested", engine::leaf_texts(a.request), engine::leaf_texts(b.request), {},
          difference);
  const std::size_t requested = difference.rows.size();
  std::set<std::string> differing;
  for (const SettingsRow& row : difference.rows) differing.insert(row.field);
  compare("effective", engine::leaf_texts(a.result.effective),
          engine::leaf_texts(b.result.effective), differing, difference);
  compare("device", device_leaves(a.result), device_leaves(b.result), {}, difference);
  const auto already_listed = [&](const SettingsRow& row) {
    for (std::size_t i = 0; i < requested; ++i) {
      const SettingsRow& before = difference.rows[i];
      if (row.group == "effective" && row.field == before.field && row.a == before.a &&
          row.b == before.b) {
        return true;
      }
    }
    return false;
  };
  std::erase_if(difference.rows, already_listed);
  return difference;
}

namespace {

using KernelKey = std::tuple<std::string, engine::Stage, engine::WrittenValue>;

/// Samples of one side, grouped by what they belong to.
struct SideSamples {
  std::map<engine::Stage, TimeSamples> stages;
  std::map<KernelKey, TimeSamples> kernels;
  std::map<int, TimeSamples> experts;
};

void begin_block(TimeSamples& samples, std::size_t block) {
  // A block without samples begins where the next one does.
  while (samples.blocks.size() <= block) samples.blocks.push_back(samples.durations_ns.size());
}

void add_run(const RecordedRun& run, std::size_t block, bool by_operation, SideSamples& side) {
  // Key: stage or expert (upper half) and iteration.
  std::unordered_map<std::uint64_t, double> stage_sums;
  std::unordered_map<std::uint64_t, double> expert_sums;
  std::unordered_map<std::uint64_t, std::vector<double>> durations;
  for (const ActivityRecord& record : run.activity.records) {
    if (!is_timed(record)) continue;
    const auto duration = static_cast<double>(record.duration_ns());
    const auto iteration = static_cast<std::uint64_t>(record.iteration);
    const auto stage = static_cast<std::uint64_t>(record.stage);
    stage_sums[stage << 32 | iteration] += duration;
    if (record.expert >= 0) {
      expert_sums[static_cast<std::uint64_t>(record.expert) << 32 | iteration] += duration;
    }
    const auto writes = by_operation ? static_cast<std::uint64_t>(record.writes) : std::uint64_t{0};
    durations[std::uint64_t{record.name} << 16 | writes << 8 | stage].push_back(duration);
  }
  for (const auto& [key, sum] : stage_sums) {
    TimeSamples& samples = side.stages[static_cast<engine::Stage>(key >> 32)];
    begin_block(samples, block);
    samples.durations_ns.push_back(sum);
  }
  for (const auto& [key, sum] : expert_sums) {
    TimeSamples& samples = side.experts[static_cast<int>(key >> 32)];
    begin_block(samples, block);
    samples.durations_ns.push_back(sum);
  }
  for (const auto& [key, values] : durations) {
    TimeSamples& samples =
        side.kernels[{name_of(run.activity, static_cast<std::uint32_t>(key >> 16)),
                      static_cast<engine::Stage>(key & 0xFFU),
                      static_cast<engine::WrittenValue>(key >> 8 & 0xFFU)}];
    begin_block(samples, block);
    samples.durations_ns.insert(samples.durations_ns.end(), values.begin(), values.end());
  }
}

/// Clock and throttling of a side while its iterations ran.
void add_clocks(const RunSide& side, TimeSamples& samples) {
  std::vector<double> clocks;
  for (const RecordedRun* run : side) {
    const std::vector<engine::Iteration>& iterations = run->result.iterations;
    if (iterations.empty()) continue;
    const TimeSpan timed{iterations.front().start_ns,
                         iterations.back().start_ns + iterations.back().duration_ns};
    const PowerSummary power = summarize_power(run->power.samples, std::span(&timed, 1));
    if (power.sm_clock_mhz > 0.0) clocks.push_back(power.sm_clock_mhz);
    samples.clock_reasons |= step_times(iterations, run->power.samples).reasons;
  }
  if (!clocks.empty()) samples.sm_clock_mhz = quantile(clocks, 0.5);
}

/// Steps of two kinds call their operations differently: a row has the name that it has in its own
/// run, and both names where it is in both and they differ.
std::string operation_of_row(const RunSide& a, const RunSide& b, const KernelKey& key, bool in_a,
                             bool in_b) {
  const auto& [name, stage, writes] = key;
  std::string of_a = engine::operation_name(a.front()->result.effective.step, stage, writes);
  std::string of_b = engine::operation_name(b.front()->result.effective.step, stage, writes);
  if (!in_b || of_a == of_b || of_b.empty()) return of_a;
  if (!in_a || of_a.empty()) return of_b;
  return fmt::format("{} (A), {} (B)", of_a, of_b);
}

/// Recordings from before do not know which operation a record is of.
bool knows_operations(const RunSide& runs) {
  return std::ranges::any_of(runs, [](const RecordedRun* run) {
    return std::ranges::any_of(run->activity.records, [](const ActivityRecord& record) {
      return engine::is_known(record.writes);
    });
  });
}

SideSamples side_samples(const RunSide& runs, bool by_operation) {
  SideSamples side;
  for (std::size_t i = 0; i < runs.size(); ++i) add_run(*runs[i], i, by_operation, side);
  TimeSamples clocks;
  add_clocks(runs, clocks);
  const auto finish = [&](auto& all) {
    for (auto& [key, samples] : all) {
      if (!in_blocks(runs)) samples.blocks.clear();
      samples.sm_clock_mhz = clocks.sm_clock_mhz;
      samples.clock_reasons = clocks.clock_reasons;
    }
  };
  finish(side.stages);
  finish(side.kernels);
  finish(side.experts);
  return side;
}

/// The keys of both sides.
template <class Key>
std::set<Key> keys_of(const std::map<Key, TimeSamples>& a, const std::map<Key, TimeSamples>& b) {
  std::set<Key> keys;
  for (const auto& [key, samples] : a) keys.insert(key);
  for (const auto& [key, samples] : b) keys.insert(key);
  return keys;
}

/// How many keys both sides have: the rows that can get a verdict.
template <class Key>
std::size_t common_keys(const std::map<Key, TimeSamples>& a, const std::map<Key, TimeSamples>& b) {
  return static_cast<std::size_t>(
      std::ranges::count_if(a, [&b](const auto& entry) { return b.contains(entry.first); }));
}

template <class Key>
TimeDifference difference_of(const std::map<Key, TimeSamples>& a,
                             const std::map<Key, TimeSamples>& b, const Key& key,
                             std::size_t rows) {
  const auto in_a = a.find(key);
  const auto in_b = b.find(key);
  return time_difference(in_a == a.end() ? TimeSamples{} : in_a->second,
                         in_b == b.end() ? TimeSamples{} : in_b->second, rows);
}

using Timings = std::vector<engine::ExpertTiming>;

const engine::ExpertTiming* timing_of(const Timings& timings, engine::ExpertMethod method,
                                      engine::Stage stage, int expert) {
  const auto found = std::ranges::find_if(timings, [&](const engine::ExpertTiming& one) {
    return one.method == method && one.stage == stage && one.expert == expert;
  });
  return found == timings.end() ? nullptr : &*found;
}

/// A method and stage with which both runs timed experts; prefers the product to earlier stages.
const engine::ExpertTiming* common_timing(const Timings& a, const Timings& b) {
  const engine::ExpertTiming* best = nullptr;
  for (const engine::ExpertTiming& one : a) {
    const bool in_both = std::ranges::any_of(b, [&](const engine::ExpertTiming& other) {
      return other.method == one.method && other.stage == one.stage;
    });
    if (!in_both) continue;
    if (best == nullptr ||
        (one.stage == engine::Stage::Fprop && best->stage != engine::Stage::Fprop)) {
      best = &one;
    }
  }
  return best;
}

std::string method_text(const engine::ExpertTiming& timing) {
  const std::string method = timing.method == engine::ExpertMethod::Stamps     ? "in-kernel stamps"
                             : timing.method == engine::ExpertMethod::Isolated ? "isolated launches"
                                                                               : "trace";
  return method + " of " + std::string(engine::stage_name(timing.stage));
}

/// For one expert with a method that keeps only medians and spreads.
TimeDifference difference_of(const Timings& a, const Timings& b, const engine::ExpertTiming& common,
                             int expert) {
  const auto summary = [&](const Timings& timings) {
    const engine::ExpertTiming* found = timing_of(timings, common.method, common.stage, expert);
    if (found == nullptr) return SampleSummary{};
    return SampleSummary{.n = static_cast<std::size_t>(std::max(found->samples, 0)),
                         .median = found->median_ns,
                         .p5 = found->p5_ns,
                         .p95 = found->p95_ns};
  };
  return spread_difference(summary(a), summary(b));
}

double sum_of(const TimeDifference& time) {
  const auto part = [](double median, std::size_t n) {
    return n == 0 ? 0.0 : median * static_cast<double>(n);
  };
  return part(time.median_a, time.n_a) + part(time.median_b, time.n_b);
}

/// What one side alone knows about the time of its experts, with how; empty = nothing.
std::string known_expert_times(const RunSide& side, const SideSamples& samples) {
  if (!samples.experts.empty()) return "records that name the expert";
  std::vector<std::string> ways;
  for (const engine::ExpertTiming& timing : side.front()->result.measurements.experts) {
    const std::string way = method_text(timing);
    if (std::ranges::find(ways, way) == ways.end()) ways.push_back(way);
  }
  return fmt::format("{}", fmt::join(ways, ", "));
}

std::string why_no_expert_time(const RunSide& a, const RunSide& b, const SideSamples& in_a,
                               const SideSamples& in_b) {
  if (!in_a.experts.empty() && !in_b.experts.empty()) return {};
  const std::string known_a = known_expert_times(a, in_a);
  const std::string known_b = known_expert_times(b, in_b);
  const auto without = [](const RunSide& side) {
    return "no time per expert: no record of it names an expert, and it has neither stamps nor "
           "isolated launches. Method: " +
           side.front()->result.activity_method + ".";
  };
  if (known_a.empty() && known_b.empty()) {
    return "Neither run has a record that names an expert, stamps or isolated launches, so there "
           "is no time per expert to compare; a share of FLOP would be a guess. Method: " +
           a.front()->result.activity_method + ".";
  }
  if (known_a.empty()) return fmt::format("B has {}; A has {}", known_b, without(a));
  if (known_b.empty()) return fmt::format("A has {}; B has {}", known_a, without(b));
  return fmt::format("A has {}; B has {}: different ways, so their times are not compared.",
                     known_a, known_b);
}

/// Where only one side was timed, its times are listed without a ratio.
const engine::ExpertTiming* only_timing(const Timings& a, const Timings& b) {
  if (a.empty() == b.empty()) return nullptr;
  return a.empty() ? &b.front() : &a.front();
}

/// How a side's records can become more, as an option of a run.
std::string more_records(const RunSide& side, std::size_t needed) {
  const engine::RunRequest& request = side.front()->result.effective;
  const bool traced_less =
      std::cmp_less(request.measure.traced_iterations, side.front()->result.iterations.size());
  return fmt::format("{} {}", traced_less ? "--traced-iterations" : "--iterations", needed);
}

/// Where records are too few: they are of the traced iterations, and a run that is measured gets no
/// more of them.
void add_what_helps(const RunSide& a, const RunSide& b, const TimeDifference& step,
                    TimeDifference& time) {
  if (time.doubt != TimeDoubt::FewSamples || time.needed == 0) return;
  const std::string of_a = more_records(a, time.needed);
  const std::string of_b = more_records(b, time.needed);
  time.reason += fmt::format(
      " Only traced iterations have records, and a run that is measured gets no more: measure "
      "again, with {}.",
      of_a == of_b ? of_a : fmt::format("{} for A and {} for B", of_a, of_b));
  if (!step.decided()) return;
  time.reason +=
      fmt::format(" The step's verdict rests on all {} and {} iterations.", step.n_a, step.n_b);
}

}  // namespace

RunSide side_of(std::span<const std::shared_ptr<const RecordedRun>> runs,
                const std::string& label) {
  RunSide side;
  for (const auto& run : runs) {
    if (run->group.label == label) side.push_back(run.get());
  }
  return side;
}

TimeSamples step_samples(const RunSide& side) {
  TimeSamples samples;
  for (std::size_t i = 0; i < side.size(); ++i) {
    if (in_blocks(side)) begin_block(samples, i);
    for (const engine::Iteration& iteration : side[i]->result.iterations) {
      samples.durations_ns.push_back(static_cast<double>(iteration.duration_ns));
    }
  }
  add_clocks(side, samples);
  return samples;
}

engine::ProductAccuracy expert_accuracy(const RecordedRun& run, std::size_t expert,
                                        engine::Product product) {
  if (expert >= run.result.experts.size()) return {};
  if (product != engine::Product::Fprop && !run.result.backward) return {};
  return run.result.experts[expert].of(product);
}

RunComparison compare_runs(const RunSide& a, const RunSide& b, engine::Product product) {
  RunComparison comparison;
  const bool by_operation = knows_operations(a) && knows_operations(b);
  SideSamples in_a = side_samples(a, by_operation);
  SideSamples in_b = side_samples(b, by_operation);
  comparison.step = time_difference(step_samples(a), step_samples(b));
  const std::size_t stages = common_keys(in_a.stages, in_b.stages);
  for (const engine::Stage stage : keys_of(in_a.stages, in_b.stages)) {
    comparison.stages.push_back({stage, difference_of(in_a.stages, in_b.stages, stage, stages)});
  }
  const std::size_t kernels = common_keys(in_a.kernels, in_b.kernels);
  for (const KernelKey& key : keys_of(in_a.kernels, in_b.kernels)) {
    const auto& [name, stage, writes] = key;
    KernelRow row{.name = name,
                  .operation = operation_of_row(a, b, key, in_a.kernels.contains(key),
                                                in_b.kernels.contains(key)),
                  .stage = stage,
                  .time = difference_of(in_a.kernels, in_b.kernels, key, kernels)};
    if (const auto found = in_a.kernels.find(key); found != in_a.kernels.end()) {
      row.samples_a = std::move(found->second.durations_ns);
    }
    if (const auto found = in_b.kernels.find(key); found != in_b.kernels.end()) {
      row.samples_b = std::move(found->second.durations_ns);
    }
    comparison.kernels.push_back(std::move(row));
  }
  std::stable_sort(
      comparison.kernels.begin(), comparison.kernels.end(),
      [](const KernelRow& x, const KernelRow& y) { return sum_of(x.time) > sum_of(y.time); });
  comparison.no_expert_time = why_no_expert_time(a, b, in_a, in_b);
  const RecordedRun& first_a = *a.front();
  const RecordedRun& first_b = *b.front();
  const Timings& timings_a = first_a.result.measurements.experts;
  const Timings& timings_b = first_b.result.measurements.experts;
  const engine::ExpertTiming* common =
      comparison.no_expert_time.empty() ? nullptr : common_timing(timings_a, timings_b);
  if (common != nullptr) {
    comparison.no_expert_time.clear();
    comparison.expert_method = method_text(*common);
    comparison.expert_test = "spreads, p5 to p95, that do not overlap";
  } else if (comparison.no_expert_time.empty()) {
    comparison.expert_method = "records that name the expert";
    comparison.expert_test = in_blocks(a) && in_blocks(b)
                                 ? fmt::format(
                                       "the rank-sum test (p of at most "
                                       "{:g} for all {})",
                                       kFalseVerdicts, common_keys(in_a.experts, in_b.experts))
                                 : std::string("intervals of the ratio of medians that exclude 1");
  }
  const bool records = !in_a.experts.empty() || !in_b.experts.empty();
  const engine::ExpertTiming* const timing =
      common != nullptr || records ? common : only_timing(timings_a, timings_b);
  const std::size_t timed_experts = common_keys(in_a.experts, in_b.experts);
  const std::size_t experts = std::max(first_a.result.splits.size(), first_b.result.splits.size());
  // Times are those of all iterations; so are, of a recorded routing, the rows.
  const std::vector<std::int64_t> splits_a = engine::mean_splits(first_a.result);
  const std::vector<std::int64_t> splits_b = engine::mean_splits(first_b.result);
  const auto tokens = [](const std::vector<std::int64_t>& splits, std::size_t expert) {
    return expert < splits.size() ? splits[expert] : 0;
  };
  for (std::size_t e = 0; e < experts; ++e) {
    ExpertRow row;
    row.expert = static_cast<int>(e);
    row.tokens_a = tokens(splits_a, e);
    row.tokens_b = tokens(splits_b, e);
    const engine::ProductAccuracy of_a = expert_accuracy(first_a, e, product);
    const engine::ProductAccuracy of_b = expert_accuracy(first_b, e, product);
    row.snr_a_db = of_a.snr_db;
    row.snr_b_db = of_b.snr_db;
    row.left_out_a = of_a.left_out();
    row.left_out_b = of_b.left_out();
    if (timing != nullptr) {
      row.time = difference_of(timings_a, timings_b, *timing, row.expert);
    } else if (comparison.no_expert_time.empty()) {
      row.time = difference_of(in_a.experts, in_b.experts, row.expert, timed_experts);
    }
    comparison.experts.push_back(std::move(row));
  }
  for (StageRow& row : comparison.stages) add_what_helps(a, b, comparison.step, row.time);
  for (KernelRow& row : comparison.kernels) add_what_helps(a, b, comparison.step, row.time);
  if (timing == nullptr) {
    for (ExpertRow& row : comparison.experts) add_what_helps(a, b, comparison.step, row.time);
  }
  withdraw_verdicts(a, b, comparison);
  comparison.no_snr_difference = product_difference(*a.front(), *b.front(), product);
  return comparison;
}

std::string expert_verdicts(const RunComparison& comparison) {
  if (!comparison.not_comparable.empty()) return comparison.not_comparable;
  std::size_t differ = 0;
  std::map<TimeDoubt, std::vector<const TimeDifference*>> doubts;
  for (const ExpertRow& row : comparison.experts) {
    if (row.time.decided()) {
      ++differ;
    } else if (row.time.n_a > 0 && row.time.n_b > 0) {
      doubts[row.time.doubt].push_back(&row.time);
    }
  }
  std::string text =
      fmt::format("{} of {} experts differ{}", differ, comparison.experts.size(),
                  comparison.expert_test.empty() ? "" : " by " + comparison.expert_test);
  const char* separator = ": ";
  for (const auto& [doubt, rows] : doubts) {
    const std::string& first = rows.front()->reason;
    const bool same = std::ranges::all_of(
        rows, [&first](const TimeDifference* row) { return row->reason == first; });
    if (same && doubts.size() == 1) {
      // One sentence that holds for all says more than a count: how many samples to take.
      std::string sentence = first;
      if (sentence.ends_with('.')) sentence.pop_back();
      return fmt::format("{}: {} ({})", text, engine::name_of(doubt), sentence);
    }
    text += fmt::format("{}{} ambiguous, {}", separator, rows.size(), engine::name_of(doubt));
    separator = "; ";
  }
  return text;
}

}  // namespace profiling

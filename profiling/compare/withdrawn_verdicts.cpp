#include "profiling/compare/withdrawn_verdicts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "profiling/compare/same_work.h"

namespace profiling {
namespace {

template <class Change>
void for_each_time(RunComparison& comparison, const Change& change) {
  change(comparison.step);
  for (StageRow& row : comparison.stages) change(row.time);
  for (KernelRow& row : comparison.kernels) change(row.time);
  for (ExpertRow& row : comparison.experts) change(row.time);
}

/// A ratio of times remains; what it says about a setting does not.
void withdraw_verdict(TimeVerdict instead, const std::string& reason, TimeDifference& time) {
  if (time.n_a == 0 || time.n_b == 0) return;
  time.verdict = instead;
  time.doubt = TimeDoubt::None;
  time.unmet.clear();
  time.reason = reason;
}

/// Why this setting is not as requested, in brackets; empty if no side's run says it.
std::string reason_of(const std::string& field, const SettingsDifference& settings) {
  for (const auto* deviations : {&settings.deviations_a, &settings.deviations_b}) {
    for (const engine::Deviation& one : *deviations) {
      // A deviation of a struct is one of each of its fields.
      if (field == one.field || field.starts_with(one.field + ".")) {
        return fmt::format(" ({})", one.reason);
      }
    }
  }
  return {};
}

/// "workspace: A requested shared, B per-layout, both ran per-matmul (...)."
std::string requested_and_ran(const SettingsDifference& settings) {
  std::vector<std::string> parts;
  for (const SettingsRow& asked : settings.rows) {
    if (asked.group != "requested") continue;
    for (const SettingsRow& ran : settings.rows) {
      if (ran.group != "effective" || ran.field != asked.field) continue;
      parts.push_back(fmt::format("{}: A requested {}, B {}, both ran {}{}", asked.field, asked.a,
                                  asked.b, ran.a, reason_of(asked.field, settings)));
    }
  }
  return fmt::format("{}.", fmt::join(parts, "; "));
}

/// A difference between equal settings is no effect of a setting, however significant it is.
void withdraw_of_equals(TimeDifference& time) {
  if (!time.decided()) return;
  time.verdict = TimeVerdict::Ambiguous;
  time.doubt = TimeDoubt::SameSettings;
  time.unmet = engine::name_of(time.doubt);
  time.reason =
      "Both runs have the same settings, so this is how the machine changed between them. " +
      time.reason;
}

/// The launches of a kernel that runs once per expert are of other rows on the other side: the
/// median launch says nothing, the sum of the stage does.
void withdraw_of_other_rows(TimeDifference& time) {
  if (time.n_a == 0 || time.n_b == 0) return;
  // More samples would not help: undecided is another answer.
  time.verdict = TimeVerdict::DifferentWork;
  time.doubt = TimeDoubt::OtherRows;
  time.unmet.clear();
  time.reason =
      "A and B route other rows to their experts, so a launch of this kernel does other work on "
      "each side: its stage's sum can be compared, its median launch cannot.";
}

/// Iterations whose records a side has.
std::size_t traced_iterations(const RunSide& side) {
  std::size_t count = 0;
  for (const RecordedRun* run : side) {
    const auto traced =
        static_cast<std::size_t>(std::max(run->result.effective.measure.traced_iterations, 0));
    count += std::min(traced, run->result.iterations.size());
  }
  return count;
}

}  // namespace

bool in_blocks(const RunSide& side) {
  return side.size() > 1 || side.front()->group.kind == GroupKind::Interleaved;
}

void withdraw_verdicts(const RunSide& a, const RunSide& b, RunComparison& comparison) {
  const bool one_after_the_other = !in_blocks(a) && !in_blocks(b);
  const SettingsDifference settings = settings_difference(*a.front(), *b.front());
  if (one_after_the_other && settings.rows.empty()) {
    for_each_time(comparison, withdraw_of_equals);
  } else if (one_after_the_other && comparison.step.decided()) {
    comparison.step.reason +=
        " They were measured one after the other: how the machine changed meanwhile counts, too, "
        "and only interleaved blocks exclude it.";
  }
  if (engine::mean_splits(a.front()->result) != engine::mean_splits(b.front()->result)) {
    const std::size_t once_in_a = traced_iterations(a);
    const std::size_t once_in_b = traced_iterations(b);
    for (KernelRow& row : comparison.kernels) {
      if (row.time.n_a > once_in_a || row.time.n_b > once_in_b) withdraw_of_other_rows(row.time);
    }
  }
  const WorkDifference difference = work_difference(*a.front(), *b.front());
  if (!difference.sentence.empty()) {
    comparison.not_comparable = difference.sentence;
    for_each_time(comparison, [&](TimeDifference& time) {
      withdraw_verdict(difference.work ? TimeVerdict::DifferentWork : TimeVerdict::DifferentDevices,
                       difference.sentence, time);
    });
  } else if (settings.only_requested()) {
    const std::string reason = requested_and_ran(settings);
    for_each_time(comparison, [&](TimeDifference& time) {
      withdraw_verdict(TimeVerdict::SameStep, reason, time);
    });
    comparison.not_comparable = fmt::format("{}: {}", kSameStep, reason);
  }
}

}  // namespace profiling

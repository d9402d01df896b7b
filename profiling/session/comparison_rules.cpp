#include "profiling/session/comparison_rules.h"

#include "profiling/session/rules.h"
#include "profiling/session/schema.h"

namespace profiling {
namespace {

constexpr std::int64_t kAnyCount = std::numeric_limits<std::int64_t>::max();

void check_sample(const engine::QuantizationSample& sample, Rules& rules) {
  rules.between("sample row", sample.row, 0, kAnyCount);
  rules.between("sample column", sample.column, 0, kAnyCount);
  rules.between("sample rows", sample.rows, 0, engine::kMaxSampleSide);
  rules.between("sample columns", sample.columns, 0, engine::kMaxSampleSide);
  if (!rules.ok()) return;
  const auto cells =
      static_cast<std::size_t>(sample.rows) * static_cast<std::size_t>(sample.columns);
  rules.require(sample.original.size() == cells && sample.codes.size() == cells &&
                    sample.scale_inv.size() == cells && sample.decoded.size() == cells,
                [&] {
                  return fmt::format("sample of {} x {} elements has {} originals, {} codes",
                                     sample.rows, sample.columns, sample.original.size(),
                                     sample.codes.size());
                });
}

void check_times(const char* field, const std::vector<std::int64_t>& times, Rules& rules) {
  // Copies are timed beside every recipe and direction.
  constexpr std::int64_t kMost = kMaxComparisonReports * engine::kMaxTimedLaunches;
  rules.size(field, times.size(), kMost);
  if (!rules.ok()) return;
  for (const std::int64_t time : times) rules.between(field, time, 0, kMaxTime_ns);
}

void check_report(const engine::QuantizationReport& report, std::size_t experts, Rules& rules) {
  rules.status("report recipe", engine::validate(report.recipe));
  rules.text("refused", report.refused);
  rules.text("time_method", report.time_method);
  check_operand(report.statistics, experts, rules);
  rules.require(!(report.max_relative_error < 0.0), [&] {
    return fmt::format("max_relative_error is {}; it must be at least 0",
                       report.max_relative_error);
  });
  rules.between("max_ulp", report.max_ulp, 0, kAnyCount);
  rules.size("code counts", report.code_counts.size(), 256);
  for (const std::uint64_t count : report.code_counts) rules.count("code count", count);
  check_sample(report.sample, rules);
  rules.between("code_bytes", report.code_bytes, 0, kAnyCount);
  rules.between("scale_bytes", report.scale_bytes, 0, kAnyCount);
  rules.between("moved_bytes", report.moved_bytes, 0, kAnyCount);
  check_times("report times", report.times_ns, rules);
  rules.require(report.experts.empty() || report.experts.size() == experts, [&] {
    return fmt::format("report has rows of {} experts where {} were routed to",
                       report.experts.size(), experts);
  });
  rules.count("waste scales", report.waste.scales);
  for (const engine::ExpertQuantization& expert : report.experts) {
    rules.between("expert rows", expert.rows, 0, engine::kMaxDimension);
    rules.count("expert saturated", expert.saturated);
    rules.count("expert underflowed", expert.underflowed);
    rules.count("expert waste scales", expert.waste.scales);
  }
}

}  // namespace

engine::Status check_comparison(const RecordedComparison& recorded) {
  const engine::RecipeComparison& comparison = recorded.comparison;
  Rules rules;
  rules.status("request", engine::validate(comparison.request));
  rules.between("wall_clock_ms", recorded.wall_clock_ms, 0, kMaxTime_ns);
  rules.size("splits", comparison.splits.size(), engine::kMaxExperts);
  rules.size("reports", comparison.reports.size(), kMaxComparisonReports);
  if (!rules.ok()) return rules.take();
  for (const std::int64_t tokens : comparison.splits) {
    rules.between("split", tokens, 0, engine::kMaxDimension);
  }
  check_device(comparison.device, rules);
  for (const engine::QuantizationReport& report : comparison.reports) {
    if (rules.ok()) check_report(report, comparison.splits.size(), rules);
  }
  check_times("copy times", comparison.copy_times_ns, rules);
  rules.between("copy_bytes", comparison.copy_bytes, 0, kAnyCount);
  rules.between("wall_ns", comparison.wall_ns, 0, kMaxTime_ns);
  return rules.take();
}

}  // namespace profiling

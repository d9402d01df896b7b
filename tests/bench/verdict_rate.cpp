// How often compare_runs() calls equal settings faster or slower, and how often it sees a delay.
// Takes a recording of equal requests (`run --requests`, one line per block), cuts it into
// measurements, draws which blocks are A's and B's as `ab` does, and compares the sides; then again
// with every time of B made longer. Every measurement is drawn several times; 0 draws = once, in
// the regular order A B B A.
// Usage: verdict_rate RECORDING [blocks per measurement [delay in percent [draws]]]. One JSON line.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "app/sweep/plan.h"
#include "profiling/compare/run_comparison.h"
#include "profiling/session/session_file.h"

namespace {

using profiling::RunComparison;
using profiling::TimeVerdict;

/// Every iteration and record takes `factor` as long and starts as much later.
profiling::RecordedRun lengthened(profiling::RecordedRun run, double factor) {
  const auto longer = [factor](std::int64_t ns) {
    return std::llround(static_cast<double>(ns) * factor);
  };
  for (engine::Iteration& one : run.result.iterations) {
    one.start_ns = longer(one.start_ns);
    one.duration_ns = longer(one.duration_ns);
  }
  for (profiling::ActivityRecord& record : run.activity.records) {
    const std::int64_t duration = longer(record.duration_ns());
    record.start_ns = longer(record.start_ns);
    record.end_ns = record.start_ns + duration;
  }
  return run;
}

struct Counts {
  int steps = 0;
  int step_verdicts = 0;
  int step_slower = 0;
  int rows = 0;  // stages and kernels
  int row_verdicts = 0;

  void add(const RunComparison& comparison) {
    ++steps;
    step_verdicts += comparison.step.decided() ? 1 : 0;
    step_slower += comparison.step.verdict == TimeVerdict::Slower ? 1 : 0;
    const auto count = [this](const profiling::TimeDifference& time) {
      ++rows;
      row_verdicts += time.decided() ? 1 : 0;
    };
    for (const profiling::StageRow& row : comparison.stages) count(row.time);
    for (const profiling::KernelRow& row : comparison.kernels) count(row.time);
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: verdict_rate RECORDING [blocks [delay in percent [draws]]]\n");
    return 1;
  }
  const std::size_t blocks = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 16;
  const double percent = argc > 3 ? std::atof(argv[3]) : 5.0;
  const auto session = profiling::open_session(argv[1]);
  if (!session.ok() || blocks < 2) {
    fmt::print(stderr, "{}\n", session.ok() ? "too few blocks" : session.error().message);
    return 1;
  }
  const std::size_t draws = argc > 4 ? std::strtoul(argv[4], nullptr, 10) : 5;
  Counts equal;
  Counts delayed;
  const std::vector<profiling::RecordedRun>& runs = session.value().runs;
  const std::size_t measurements = runs.size() / blocks;
  for (std::size_t draw = 0; draw < measurements * std::max<std::size_t>(draws, 1); ++draw) {
    const std::size_t first = draw % measurements * blocks;
    profiling::RunSide a;
    profiling::RunSide b;
    std::vector<bool> of_b = app::draw_sides(static_cast<int>(blocks), draw);
    for (std::size_t i = 0; draws == 0 && i < blocks; ++i) of_b[i] = i % 4 == 1 || i % 4 == 2;
    for (std::size_t i = 0; i < blocks; ++i) (of_b[i] ? b : a).push_back(&runs[first + i]);
    equal.add(compare_runs(a, b, engine::Product::Fprop));
    std::vector<profiling::RecordedRun> longer;
    for (const profiling::RecordedRun* run : b) {
      longer.push_back(lengthened(*run, 1.0 + percent / 100.0));
    }
    profiling::RunSide late;
    for (const profiling::RecordedRun& run : longer) late.push_back(&run);
    delayed.add(compare_runs(a, late, engine::Product::Fprop));
  }
  fmt::print(
      "{{\"device\": \"{}\", \"runs\": {}, \"blocks\": {}, \"measurements\": {}, \"draws\": {}, "
      "\"comparisons\": {}, \"false_verdicts\": {}, \"false_step_verdicts\": {}, "
      "\"delay_percent\": {}, \"delayed_steps_called_slower\": {}, \"delayed_rows\": {}, "
      "\"delayed_rows_called\": {}}}\n",
      runs.empty() ? "" : runs.front().result.device.name, runs.size(), blocks, measurements, draws,
      equal.steps + equal.rows, equal.step_verdicts + equal.row_verdicts, equal.step_verdicts,
      percent, delayed.step_slower, delayed.rows, delayed.row_verdicts);
  return 0;
}

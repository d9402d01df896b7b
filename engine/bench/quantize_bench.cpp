#include "engine/bench/quantize_bench.h"

#include <algorithm>
#include <chrono>

#include "engine/bench/quantize_cases.h"
#include "engine/model/measurement.h"

namespace engine {
namespace {

using Clock = std::chrono::steady_clock;

struct Turn {
  std::vector<double> times_us;
  std::vector<MeasuredSpan> spans;
};

Status measure(BenchTarget& target, const std::vector<BenchCase>& cases, double seconds,
               RunProgress& progress, double first_fraction, double share,
               std::vector<Turn>& turns) {
  const auto limit = std::chrono::duration<double>(seconds);
  Clock::time_point start = Clock::now();
  for (int round = -kWarmRounds; round < kMostRounds; ++round) {
    if (round == 0) start = Clock::now();
    const double used = (Clock::now() - start) / limit;
    if (round >= kFewestRounds && used >= 1) break;
    progress.fraction = first_fraction + share * std::clamp(used, 0.0, 1.0);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (progress.cancel) return cancelled();
      const std::int64_t begin = steady_ns();
      ENGINE_ASSIGN(const double time, target.time_us(cases[i].launch, target.launches_per_time()));
      if (round < 0) continue;
      turns[i].times_us.push_back(time);
      turns[i].spans.push_back({begin, steady_ns()});
    }
  }
  return {};
}

BenchRow row_of(const BenchShape& shape, const BenchCase& timed, std::vector<double> times_us) {
  std::sort(times_us.begin(), times_us.end());
  BenchRow row;
  row.shape = shape;
  row.kernel = timed.kernel;
  row.bytes = timed.bytes;
  row.median_us = quantile(times_us, 0.5);
  row.p5_us = quantile(times_us, 0.05);
  row.p95_us = quantile(times_us, 0.95);
  row.samples = static_cast<int>(times_us.size());
  return row;
}

Status bench_shape(BenchTarget& target, const BenchShape& shape, double seconds,
                   RunProgress& progress, double first_fraction, double share,
                   const ReportRows& report) {
  ENGINE_ASSIGN(const QuantizeCases made, make_quantize_cases(target, shape));
  const std::vector<BenchCase>& cases = made.cases;
  std::vector<Turn> turns(cases.size());
  ENGINE_TRY(measure(target, cases, seconds, progress, first_fraction, share, turns));
  std::vector<MeasuredRow> rows;
  double copy_rate = 0;  // bytes per microsecond
  for (std::size_t i = 0; i < cases.size(); ++i) {
    BenchRow row = row_of(shape, cases[i], std::move(turns[i].times_us));
    row.elements = made.elements;
    row.launches = target.launches_per_time();
    const double rate = row.median_us > 0 ? row.bytes / row.median_us : 0;
    if (i == 0) copy_rate = rate;
    if (copy_rate > 0) row.of_copy = rate / copy_rate;
    rows.push_back({.row = std::move(row), .spans = std::move(turns[i].spans)});
  }
  return report(rows);
}

}  // namespace

Status run_quantize_bench(BenchTarget& target, const BenchOrder& order, RunProgress& progress,
                          const ReportRows& report) {
  const std::vector<BenchShape> shapes =
      order.shapes.empty() ? default_bench_shapes(target.threads() > 0) : order.shapes;
  const double share = 1.0 / static_cast<double>(shapes.size());
  progress.stage = static_cast<int>(Stage::Other);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (progress.cancel) return cancelled();
    const Status done = bench_shape(target, shapes[i], order.seconds, progress,
                                    static_cast<double>(i) * share, share, report);
    target.release_all();
    if (!done.ok()) return done;
  }
  return {};
}

}  // namespace engine

#include "engine/bench/quantize_bench.h"

#include "engine/bench/quantize_cases.h"

namespace engine {
namespace {

struct Turn {
  std::vector<double> times_us;
  std::vector<MeasuredSpan> spans;
};

Status bench_shape(BenchTarget& target, const BenchShape& shape, double seconds,
                   RunProgress& progress, ProgressShare of, const ReportRows& report) {
  ENGINE_ASSIGN(const QuantizeCases made, make_quantize_cases(target, shape));
  const std::vector<BenchCase>& cases = made.cases;
  std::vector<Turn> turns(cases.size());
  const auto run_round = [&](int round) -> Status {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (progress.cancel) return cancelled();
      const std::int64_t begin = steady_ns();
      const Result<double> time = target.time_us(cases[i].launch, target.launches_per_time());
      if (!time.ok()) {
        return Error{time.error().code, cases[i].kernel + ": " + time.error().message};
      }
      if (round < 0) continue;
      turns[i].times_us.push_back(time.value());
      turns[i].spans.push_back({begin, steady_ns()});
    }
    return {};
  };
  ENGINE_TRY(run_rounds(seconds, progress, of, run_round));
  std::vector<MeasuredRow> rows;
  double copy_rate = 0;  // bytes per microsecond
  for (std::size_t i = 0; i < cases.size(); ++i) {
    BenchRow row{.shape = shape,
                 .kernel = cases[i].kernel,
                 .bytes = cases[i].bytes,
                 .elements = made.elements,
                 .launches = target.launches_per_time()};
    set_times(row, std::move(turns[i].times_us));
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
    const ProgressShare of{.begin = static_cast<double>(i) * share, .share = share};
    const Status done = bench_shape(target, shapes[i], order.seconds, progress, of, report);
    target.release_all();
    if (!done.ok()) return done;
  }
  return {};
}

}  // namespace engine

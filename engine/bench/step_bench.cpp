#include "engine/bench/step_bench.h"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/input/routing.h"
#include "engine/model/weight_reuse.h"

namespace engine {
namespace {

/// A subject with the results of its rounds.
struct Contender {
  OfferedSubject offered;
  bool essential = true;
  std::vector<BenchPart> order = {};  // of its parts
  struct Part {
    std::vector<double> times_us, kernels_us, replays_us;
    std::vector<MeasuredSpan> spans;
  };
  std::map<BenchPart, Part> parts = {};

  bool runs() const { return offered.subject != nullptr; }
  void drop(std::string why) {
    offered.subject.reset();
    offered.missing = std::move(why);
    order.clear();
  }
};

class CaseBench {
 public:
  CaseBench(const StepCase& measured, double seconds, RunProgress& progress,
            std::vector<Contender> contenders)
      : case_(measured),
        seconds_(seconds),
        progress_(progress),
        contenders_(std::move(contenders)) {}

  Status measure(ProgressShare of) {
    const auto run_round = [this](int round) -> Status {
      for (Contender* contender : order_of(round)) {
        if (progress_.cancel) return cancelled();
        ENGINE_TRY(take_turn(*contender, round < 0));
      }
      return {};
    };
    ENGINE_TRY(run_rounds(seconds_, progress_, of, run_round));
    for (Contender& contender : contenders_) {
      if (progress_.cancel) return cancelled();
      if (!contender.runs()) continue;
      ENGINE_TRY(trace(contender));
    }
    return {};
  }

  std::vector<MeasuredStepRow> rows() {
    std::vector<MeasuredStepRow> rows;
    for (Contender& contender : contenders_) {
      StepBenchRow row;
      row.step = case_.of.step;
      row.shape = case_.of.shape.shape;
      row.routing = case_.of.routing;
      row.subject = contender.offered.name;
      row.skipped = contender.offered.missing;
      if (!contender.runs()) rows.push_back({.row = row});
      for (const BenchPart part : contender.order) {
        rows.push_back(row_of(row, part, contender.parts[part]));
      }
    }
    find_winners(rows);
    return rows;
  }

 private:
  using Rows = std::vector<MeasuredStepRow>;

  static double median_us(const Rows& rows, std::string_view subject, BenchPart part) {
    const auto found = std::ranges::find_if(rows, [&](const MeasuredStepRow& measured) {
      const StepBenchRow& row = measured.row;
      return row.subject == subject && row.part == part && row.skipped.empty();
    });
    return found == rows.end() ? 0 : found->row.median_us;
  }

  /// StepBenchRow::beats_bf16_from, of our own recipes.
  static void find_winners(Rows& rows) {
    for (MeasuredStepRow& measured : rows) {
      StepBenchRow& row = measured.row;
      if (!keeps_weights(row.part) || !row.skipped.empty()) continue;
      const bool ours = std::ranges::any_of(step_bench_recipes(row.step), [&](auto recipe) {
        return row.subject == name_of(recipe);
      });
      const BenchPart step = quantizing(row.part);
      const ReuseTimes times{.quantizing = median_us(rows, row.subject, step),
                             .keeping = row.median_us,
                             .plain = median_us(rows, name_of(StepBenchRecipe::Bf16), step)};
      if (!ours || !(times.quantizing > 0) || !(times.plain > 0)) continue;
      row.beats_bf16_from = micro_batches_to_win(times).value_or(0);
    }
  }

  /// The running subjects. A different one begins each round, and every other round is reversed:
  /// the first runs on a cooler device, and each is affected by its predecessor.
  std::vector<Contender*> order_of(int round) {
    std::vector<Contender*> running;
    for (Contender& contender : contenders_) {
      if (contender.runs()) running.push_back(&contender);
    }
    if (running.empty()) return running;
    const int counted = round + kWarmRounds;
    std::rotate(running.begin(), running.begin() + counted % static_cast<int>(running.size()),
                running.end());
    // The subject whose round it is stays first.
    if (counted % 2 != 0) std::reverse(running.begin() + 1, running.end());
    return running;
  }

  /// Ends the benchmark, or only this subject.
  static Status failed(Contender& contender, const Error& error) {
    if (contender.essential || error.code == ErrorCode::Cancelled) return error;
    contender.drop(error.message);
    return {};
  }

  static Status take_turn(Contender& contender, bool warm) {
    const Result<std::vector<PartTime>> times = contender.offered.subject->turn();
    if (!times.ok()) return failed(contender, times.error());
    if (warm) return {};
    const bool first = contender.order.empty();
    for (const PartTime& time : times.value()) {
      if (first) contender.order.push_back(time.part);
      Contender::Part& part = contender.parts[time.part];
      part.times_us.push_back(time.us);
      part.spans.push_back(time.span);
      add_trace(part, time.kernels_us, time.replay_us);
    }
    return {};
  }

  static void add_trace(Contender::Part& part, double kernels_us, double replay_us) {
    if (!(kernels_us > 0)) return;
    part.kernels_us.push_back(kernels_us);
    part.replays_us.push_back(replay_us);
  }

  static Status trace(Contender& contender) {
    const Result<std::vector<PartTrace>> traces = contender.offered.subject->trace();
    if (!traces.ok()) return failed(contender, traces.error());
    for (const PartTrace& trace : traces.value()) {
      add_trace(contender.parts[trace.part], trace.kernels_us, trace.replay_us);
    }
    return {};
  }

  MeasuredStepRow row_of(StepBenchRow row, BenchPart which, Contender::Part& part) const {
    const auto median = [](std::vector<double>& values) {
      std::ranges::sort(values);
      return quantile(values, 0.5);
    };
    row.part = which;
    if (permutes(which)) row.top_k = std::max(case_.of.shape.top_k, 1);
    row.flop = bench_part_flop(which, case_.of);
    set_times(row, std::move(part.times_us));
    if (!part.kernels_us.empty()) {
      row.kernels_us = median(part.kernels_us);
      row.replay_us = median(part.replays_us);
    }
    return {.row = std::move(row), .spans = std::move(part.spans)};
  }

  const StepCase& case_;
  const double seconds_;
  RunProgress& progress_;
  std::vector<Contender> contenders_;
};

Status bench_case(const std::vector<StepTarget*>& targets, const StepCase& measured, double seconds,
                  RunProgress& progress, ProgressShare of, const ReportStepRows& report) {
  std::vector<Contender> contenders;
  for (StepTarget* target : targets) {
    ENGINE_ASSIGN(std::vector<OfferedSubject> offered, target->offer(measured, progress));
    for (OfferedSubject& subject : offered) {
      contenders.push_back({.offered = std::move(subject), .essential = target->essential()});
    }
  }
  CaseBench bench(measured, seconds, progress, std::move(contenders));
  ENGINE_TRY(bench.measure(of));
  return report(bench.rows());
}

}  // namespace

Status run_step_bench(const std::vector<StepTarget*>& targets, StepKind step,
                      const StepBenchOrder& order, double seconds, RunProgress& progress,
                      const ReportStepRows& report) {
  const double share = 1.0 / static_cast<double>(order.shapes.size() * order.routings.size());
  double fraction = 0;
  progress.stage = static_cast<int>(Stage::Other);
  for (const StepBenchShape& shape : order.shapes) {
    for (const RoutingDistribution routing : order.routings) {
      if (progress.cancel) return cancelled();
      const StepBenchCase of{.step = step, .shape = shape, .routing = routing};
      ENGINE_ASSIGN(GroupedShape routed,
                    resolve_shape(step_bench_request(of, StepBenchRecipe::Bf16)));
      const StepCase measured{.of = of, .splits = std::move(routed.splits)};
      ENGINE_TRY(bench_case(targets, measured, seconds, progress, {fraction, share}, report));
      fraction += share;
    }
  }
  return {};
}

}  // namespace engine

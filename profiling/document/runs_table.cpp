// One row per run: what people compare, and for files every setting and total.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "engine/model/backend_traits.h"
#include "engine/model/projections.h"
#include "engine/model/snr_words.h"
#include "profiling/document/columns.h"
#include "profiling/document/headline.h"
#include "profiling/document/run_tables.h"
#include "profiling/power/step_times.h"

namespace profiling {
namespace {

/// Statistics of each tensor that a product of a layer can read, whichever the run has.
struct OperandColumns {
  void add_columns(std::vector<Column>& columns) const {
    for (const engine::StepTensor tensor : engine::operands_of(engine::StepKind::ExpertLayer)) {
      const std::string_view given = engine::traits_of(tensor).column;
      const std::string_view name = given.empty() ? engine::name_of(tensor) : given;
      columns.push_back(for_files(fmt::format("{}_snr_db", name), Measure::Decibels));
      for (const char* const count : {"saturated", "underflowed", "lost", "undefined"}) {
        columns.push_back(for_files(fmt::format("{}_{}", name, count), Measure::Count));
      }
    }
  }
  void add_cells(std::vector<Cell>& cells, const engine::RunResult& result) const {
    for (const engine::StepTensor tensor : engine::operands_of(engine::StepKind::ExpertLayer)) {
      const engine::OperandStatistics* const operand = engine::statistics_of(result, tensor);
      if (operand == nullptr) {
        cells.resize(cells.size() + 5);
        continue;
      }
      cells.emplace_back(operand->snr_db);
      for (const std::uint64_t count :
           {operand->saturated, operand->underflowed, operand->lost, operand->undefined}) {
        cells.emplace_back(count);
      }
    }
  }
};

/// "31.20 dB", or "dX 29.80 dB" of a step that has only a backward pass.
Cell worst_snr_cell(const engine::RunResult& result) {
  const std::optional<WorstExpert> worst = worst_expert(result);
  if (!worst) return {};
  const std::string words = engine::snr_text(worst->snr_db, worst->left_out);
  return worded(Cell(worst->snr_db),
                worst->product == engine::Product::Fprop
                    ? words
                    : fmt::format("{} {}", engine::output_name(worst->product), words));
}

class RunsTable {
 public:
  /// Where a run was made has columns if that is not the same for all.
  explicit RunsTable(const std::vector<NamedRun>& runs)
      : backends_(differs(runs, [](const auto& result) { return result.effective.backend; })),
        devices_(differs(runs, [](const auto& result) { return result.device.name; })) {}

  std::vector<Column> columns() const {
    std::vector<Column> columns = {for_people("run")};
    if (backends_) columns.push_back(for_people("backend", Measure::Words, "What multiplied"));
    if (devices_) columns.push_back(for_people("device", Measure::Words, "Where it ran"));
    std::vector<Column> rest = {
        for_people("step, median", Measure::Time,
                   "Time of one step: half of the timed ones took less"),
        for_people("95 % interval", Measure::Words, "Where the median lies with 95 % confidence"),
        for_people("n", Measure::Count, "How many steps were timed"),
        for_people("throttled", Measure::Count, "Steps during which the device lowered its clock"),
        for_people("rate", Measure::FlopRate,
                   "Useful work at the median step, padding not counted"),
        for_people("SNR of Y, worst expert", Measure::Decibels,
                   "The output over its error, against a product in FP32 of "
                   "the unquantized operands: 6 dB more halve the error"),
        for_people("outputs lost", Measure::Count,
                   "Elements of outputs that became infinite or NaN"),
        for_files("request_id", Measure::Count),
        for_files("wall_clock_ms", Measure::Count)};
    std::ranges::move(rest, std::back_inserter(columns));
    request_.add_columns(columns);
    for (const char* const key :
         {"iterations", "iteration_median_ns", "iteration_p5_ns", "iteration_p95_ns",
          "iteration_method", "activity_method", "dropped_records", "flop", "wall_ns"}) {
      columns.push_back(for_files(key));
    }
    device_.add_columns(columns);
    pool_.add_columns(columns);
    operands_.add_columns(columns);
    for (const char* const key :
         {"deviations", "group_kind", "group_id", "group_position", "group_label"}) {
      columns.push_back(for_files(key));
    }
    return columns;
  }

  Row row(const NamedRun& named) const {
    const RecordedRun& run = *named.run;
    const engine::RunResult& result = run.result;
    const StepTimes times = step_times(result.iterations, run.power.samples);
    const Distribution time = summarize(times.durations_ns);
    const std::string precision = median_precision(times.durations_ns).text;
    const bool timed = time.n > 0;
    const bool rated = timed && time.median > 0 && result.flop > 0;
    Row row{.cells = cells_of(named.name)};
    if (backends_)
      row.cells.emplace_back(std::string(engine::traits_of(result.effective.backend).label));
    if (devices_) row.cells.emplace_back(result.device.name);
    add_cells(row.cells, timed ? Cell(time.median) : Cell(),
              precision.empty() ? Cell() : Cell(precision), time.n,
              times.throttled.empty() ? Cell() : Cell(times.throttled_count),
              rated ? Cell(1e9 * result.flop / time.median) : Cell(), worst_snr_cell(result),
              lost_outputs(result), result.id, run.wall_clock_ms);
    request_.add_cells(row.cells, &result.effective);
    row.cells.emplace_back(time.n);
    for (const double ns : {time.median, time.p5, time.p95}) {
      row.cells.push_back(timed ? Cell(ns) : Cell());
    }
    add_cells(row.cells, Cell(result.iteration_method), Cell(result.activity_method),
              Cell(result.dropped_records), Cell(result.flop), Cell(result.wall_ns));
    device_.add_cells(row.cells, &result.device);
    pool_.add_cells(row.cells, &result.graph_memory);
    operands_.add_cells(row.cells, result);
    row.cells.emplace_back(result.deviations.size());
    if (run.group.kind == GroupKind::None) {
      row.cells.resize(row.cells.size() + 4);
    } else {
      row.cells.emplace_back(run.group.kind == GroupKind::Sweep ? "sweep" : "interleaved");
      row.cells.emplace_back(run.group.id);
      row.cells.emplace_back(run.group.position);
      row.cells.emplace_back(run.group.label);
    }
    return row;
  }

 private:
  static bool differs(const std::vector<NamedRun>& runs, const auto& of) {
    return std::ranges::any_of(runs, [&](const NamedRun& one) {
      return of(one.run->result) != of(runs.front().run->result);
    });
  }

  bool backends_;
  bool devices_;
  FieldColumns request_{engine::kType<engine::RunRequest>};
  FieldColumns device_{engine::kType<engine::DeviceFacts>, "device."};
  FieldColumns pool_{engine::kType<engine::GraphMemoryFacts>, "graph_memory."};
  OperandColumns operands_;
};

}  // namespace

Table runs_table(std::vector<NamedRun> runs) {
  const auto maker = std::make_shared<const RunsTable>(runs);
  return {.name = "runs",
          .columns = maker->columns(),
          .rows = [maker, runs = std::move(runs)](const RowSink& sink) {
            for (const NamedRun& run : runs) sink(maker->row(run));
          }};
}

}  // namespace profiling

#include "profiling/compare/comparison_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "profiling/document/columns.h"
#include "profiling/document/run_document.h"
#include "profiling/document/run_tables.h"
#include "profiling/hazards/model/kernel_name.h"

namespace profiling {
namespace {

constexpr std::size_t kTimeCells = 14;        // of add_time_difference_columns()
constexpr std::size_t kDifferenceCells = 27;  // of difference_columns()
// Before the last two, which hold what a setting is in A and in B.
constexpr std::size_t kCellsBeforeSettings = kDifferenceCells - 2;

static_assert(kFalseVerdicts == 0.01);
constexpr const char* kVerdictRule =
    "The reason is in the row's tooltip. At most 1 % of false verdicts for all rows of a kind "
    "together: interleaved blocks need a p (rank-sum test) of at most 0.01 divided by the number "
    "of rows, other runs an interval of that confidence";

void add_time_difference_columns(std::vector<Column>& columns) {
  columns.insert(
      columns.end(),
      {for_files("n_a", Measure::Count), for_files("n_b", Measure::Count),
       column("median_a_ns", Measure::Time, "A", "Median of A"),
       column("median_b_ns", Measure::Time, "B", "Median of B"),
       column("ratio", Measure::Factor, "B / A", "Ratio of the medians: below 1, B is faster"),
       for_files("ratio_low", Measure::Factor), for_files("ratio_high", Measure::Factor),
       for_files("control_ratio", Measure::Factor), for_files("block_p", Measure::Number),
       for_files("clock_ratio", Measure::Factor),
       column("verdict", Measure::Words, "B is", kVerdictRule),
       column({}, Measure::Factor, "interval",
              "Contains the ratio with 95 %, from order statistics of both sides",
              ColumnUse::WidePeople),
       column({}, Measure::Count, "n A / B", "Samples", ColumnUse::WidePeople),
       for_files("reason")});
}

std::vector<Column> difference_columns() {
  std::vector<Column> columns = {for_files("what"), for_files("name"), for_people("what"),
                                 for_files("stage"), for_files("operation")};
  add_time_difference_columns(columns);
  columns.insert(
      columns.end(),
      {for_files("tokens_a", Measure::Count), for_files("tokens_b", Measure::Count),
       for_files("snr_a_db", Measure::Decibels), for_files("snr_b_db", Measure::Decibels),
       for_files("left_out_a", Measure::Count), for_files("left_out_b", Measure::Count),
       for_files("setting_a"), for_files("setting_b")});
  return columns;
}

Tone tone_of(const TimeDifference& time) {
  return time.verdict == TimeVerdict::Faster   ? Tone::Good
         : time.verdict == TimeVerdict::Slower ? Tone::Bad
                                               : Tone::Dim;
}

Tone tone_of(FrontierPlace place) {
  return place == FrontierPlace::On          ? Tone::Good
         : place == FrontierPlace::Undecided ? Tone::Warning
                                             : Tone::Plain;
}

/// That more samples would decide it is another answer than that it is undecided.
Cell verdict_cell(const TimeDifference& time) {
  const bool more = time.verdict == TimeVerdict::Ambiguous &&
                    (time.doubt == TimeDoubt::FewSamples || time.doubt == TimeDoubt::FewBlocks);
  if (more) return Cell(engine::name_of(time.doubt));
  const std::string_view verdict = engine::name_of(time.verdict);
  // The launches of one row: the runs as a whole can be compared.
  if (time.doubt == TimeDoubt::OtherRows) return worded(Cell(verdict), "other work");
  if (time.verdict == TimeVerdict::SameStep) return Cell(verdict);
  // Why there is none is too long for a column.
  if (!time.comparable()) return worded(Cell(verdict), "no verdict");
  // Beside an interval that excludes 1 the word alone would look wrong.
  if (!time.unmet.empty()) return worded(Cell(verdict), fmt::format("{}: {}", verdict, time.unmet));
  return Cell(verdict);
}

void add_time_difference_cells(std::vector<Cell>& cells, const TimeDifference& time) {
  if (time.n_a + time.n_b == 0) {
    cells.resize(cells.size() + kTimeCells);
    return;
  }
  const auto ratio = [](double value) {
    return worded(known(value), std::isnan(value) ? "" : fmt::format("{:.3f}", value));
  };
  add_cells(cells, Cell(time.n_a), Cell(time.n_b), known(time.median_a), known(time.median_b),
            ratio(time.ratio), known(time.interval.low), known(time.interval.high),
            known(time.control_ratio), known(time.block_p), known(time.clock_ratio),
            toned(verdict_cell(time), tone_of(time)),
            std::isnan(time.interval.low)
                ? Cell()
                : worded(Cell(time.interval.low),
                         fmt::format("{:.3f} – {:.3f}", time.interval.low, time.interval.high)),
            worded(Cell(time.n_a + time.n_b), fmt::format("{}/{}", time.n_a, time.n_b)),
            Cell(time.reason));
}

/// `what` to `reason`.
Row time_row(std::string what, std::string name, std::string shown, std::string_view stage,
             std::string_view operation, const TimeDifference& time) {
  Row row;
  row.full_name = fmt::format("{}\n{}\nn {} in A, {} in B", name.empty() ? shown : name,
                              time.reason, time.n_a, time.n_b);
  row.cells =
      cells_of(std::move(what), std::move(name), std::move(shown),
               stage.empty() ? Cell() : Cell(stage), operation.empty() ? Cell() : Cell(operation));
  add_time_difference_cells(row.cells, time);
  return row;
}

/// Missing where neither is known.
Cell snr_of(double snr_db, std::uint64_t left_out) {
  if (std::isnan(snr_db) && left_out == 0) return {};
  Cell cell(snr_db);
  cell.left_out = left_out;
  return cell;
}

/// What the numbers of a side can be compared with.
void add_control(const TimeDifference& step, Document& document) {
  if (std::isnan(step.control_ratio)) return;
  document.fact("A / A",
                fmt::format("{:.4f}: odd blocks of A against its even ones", step.control_ratio));
  if (!step.comparable()) return;
  document.fact("p",
                fmt::format("{:.2g}: how probable it is that equal settings order the blocks of "
                            "A and B like this, or more clearly (rank-sum test); a verdict on "
                            "the step needs at most {:g}",
                            step.block_p, kFalseVerdicts));
}

/// Where a run is not what was requested, its times answer another question.
void add_deviations(const SettingsDifference& settings, Document& document) {
  std::vector<std::string> of_a;
  std::vector<std::string> of_b;
  for (const engine::Deviation& one : settings.deviations_a) of_a.push_back(deviation_text(one));
  for (const engine::Deviation& one : settings.deviations_b) of_b.push_back(deviation_text(one));
  const auto in = [](const std::vector<std::string>& all, const std::string& one) {
    return std::ranges::find(all, one) != all.end();
  };
  for (const std::string& one : of_a) {
    document.fact("deviation", fmt::format("{}: {}", in(of_b, one) ? "A and B" : "A", one));
  }
  for (const std::string& one : of_b) {
    if (!in(of_a, one)) document.fact("deviation", fmt::format("B: {}", one));
  }
}

void visit_times(const RunComparison& comparison, const RowSink& sink) {
  const auto finish = [&sink](Row row) {
    row.cells.resize(kDifferenceCells);
    sink(row);
  };
  finish(time_row("step", "", "step", "", "", comparison.step));
  for (const StageRow& one : comparison.stages) {
    const std::string_view stage = engine::stage_name(one.stage);
    Row row = time_row("stage", "", fmt::format("all of {}", stage), stage, "", one.time);
    row.stage = one.stage;
    finish(std::move(row));
  }
  for (const KernelRow& one : comparison.kernels) {
    Row row = time_row("kernel", one.name, work_name(one.operation, one.name),
                       engine::stage_name(one.stage), one.operation, one.time);
    row.stage = one.stage;
    finish(std::move(row));
  }
}

}  // namespace

Table time_differences_table(const RunComparison& comparison) {
  return {.name = "time_differences",
          .columns = difference_columns(),
          .rows = [&comparison](const RowSink& sink) { visit_times(comparison, sink); }};
}

Table expert_differences_table(std::span<const ExpertRow> experts) {
  std::vector<Column> columns = {column("expert", Measure::Count)};
  add_time_difference_columns(columns);
  columns.insert(columns.end(), {column("tokens_a", Measure::Count, "rows of A"),
                                 column("tokens_b", Measure::Count, "rows of B"),
                                 column("snr_a_db", Measure::Decibels, "SNR of A"),
                                 column("snr_b_db", Measure::Decibels, "SNR of B"),
                                 for_files("left_out_a", Measure::Count),
                                 for_files("left_out_b", Measure::Count)});
  return {.name = "expert_differences",
          .columns = std::move(columns),
          .rows = [experts](const RowSink& sink) {
            for (const ExpertRow& one : experts) {
              Row row{.cells = cells_of(one.expert), .full_name = one.time.reason};
              add_time_difference_cells(row.cells, one.time);
              add_cells(row.cells, one.tokens_a, one.tokens_b, snr_of(one.snr_a_db, one.left_out_a),
                        snr_of(one.snr_b_db, one.left_out_b), one.left_out_a, one.left_out_b);
              sink(row);
            }
          }};
}

Table settings_table(const SettingsDifference& settings) {
  return {.name = "settings",
          .columns = {column("setting"), column("a", Measure::Words, "A"),
                      column("b", Measure::Words, "B"),
                      column("group", Measure::Words, "of",
                             "requested; effective = what was used instead; device or library")},
          .rows = [&settings](const RowSink& sink) {
            for (const SettingsRow& row : settings.rows) {
              sink({.cells = cells_of(row.field, row.a, row.b, row.group)});
            }
          }};
}

Table comparison_table(const RunComparison& comparison, const SettingsDifference& settings) {
  return {.name = "comparison",
          .columns = difference_columns(),
          .rows = [&comparison, &settings](const RowSink& sink) {
            visit_times(comparison, sink);
            for (const ExpertRow& one : comparison.experts) {
              const std::string number = fmt::to_string(one.expert);
              Row row = time_row("expert", number, "expert " + number, "", "", one.time);
              add_cells(row.cells, Cell(one.tokens_a), Cell(one.tokens_b), known(one.snr_a_db),
                        known(one.snr_b_db), Cell(one.left_out_a), Cell(one.left_out_b), Cell(),
                        Cell());
              sink(row);
            }
            for (const SettingsRow& one : settings.rows) {
              Row row{.cells = cells_of("setting", one.group + "." + one.field, one.field)};
              row.cells.resize(kCellsBeforeSettings);
              row.cells.emplace_back(one.a);
              row.cells.emplace_back(one.b);
              sink(row);
            }
          }};
}

Document difference_document(const RunComparison& comparison, const SettingsDifference& settings) {
  const TimeDifference& step = comparison.step;
  Document document;
  add_deviations(settings, document);
  Table differing = settings_table(settings);
  differing.title = "Settings that differ:";
  document.table(std::move(differing));
  Table times = time_differences_table(comparison);
  times.title = "Times of the step, its stages and its kernels:";
  document.table(std::move(times));
  add_control(step, document);
  if (comparison.not_comparable.empty() && comparison.no_expert_time.empty()) {
    document.fact("experts", expert_verdicts(comparison));
  }
  document.fact("verdict", fmt::format("{}: {}", step.verdict_words(), step.reason));
  return document;
}

namespace {

/// The fields of the requests that are not equal in all of them, as columns of files.
struct VariedSettings {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> cells;  // of every point
};

VariedSettings varied_settings(const std::vector<SweepPoint>& points) {
  const FieldColumns fields(engine::kType<engine::RunRequest>);
  std::vector<Column> columns;
  fields.add_columns(columns);
  std::vector<std::vector<Cell>> cells(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) fields.add_cells(cells[i], &points[i].request);
  const auto text = [](const Cell& cell) { return cell.empty() ? std::string() : *cell.text(); };
  VariedSettings varied{.columns = {}, .cells = std::vector<std::vector<Cell>>(points.size())};
  for (std::size_t column = 0; column < columns.size(); ++column) {
    const bool same = std::ranges::all_of(cells, [&](const std::vector<Cell>& one) {
      return text(one[column]) == text(cells.front()[column]);
    });
    if (same) continue;
    varied.columns.push_back(std::move(columns[column]));
    for (std::size_t i = 0; i < points.size(); ++i) {
      varied.cells[i].push_back(std::move(cells[i][column]));
    }
  }
  return varied;
}

}  // namespace

Table sweep_table(const std::vector<SweepPoint>& points) {
  const auto varied = std::make_shared<const VariedSettings>(varied_settings(points));
  std::vector<Column> columns = {column("label", Measure::Words, "settings")};
  columns.insert(columns.end(), varied->columns.begin(), varied->columns.end());
  columns.insert(
      columns.end(),
      {for_files("n", Measure::Count), column("median_ns", Measure::Time, "median", "Of a step"),
       column("p5_ns", Measure::Time, "p5"), column("p95_ns", Measure::Time, "p95"),
       for_people("n", Measure::Count),
       column("worst_snr_db", Measure::Decibels, "worst SNR", "Lowest SNR of any expert's Y"),
       column("median_snr_db", Measure::Decibels, "median SNR", "Median over experts"),
       column("typical_x_snr_db", Measure::Decibels, "typical X", kTypicalError),
       column("left_out", Measure::Count, "left out"),
       column("frontier", Measure::Words, "frontier",
              "no: another point of the same work and seed is at least as accurate, and faster; "
              "undecided: the samples do not say whether it is faster")});
  const bool all_measured =
      std::ranges::all_of(points, &std::string::empty, &SweepPoint::unmeasured);
  if (!all_measured) {
    columns.push_back(column("unmeasured", Measure::Words, "not measured",
                             "Why there are no numbers: the run was refused, or it failed"));
  }
  const bool summaries =
      std::ranges::any_of(points, [](const SweepPoint& point) { return !point.summary.empty(); });
  if (summaries) columns.insert(columns.end(), {for_files("request"), for_files("device")});
  return {
      .name = "sweep",
      .columns = std::move(columns),
      .rows =
          [&points, varied, all_measured, summaries](const RowSink& sink) {
            for (std::size_t i = 0; i < points.size(); ++i) {
              const SweepPoint& point = points[i];
              const bool measured = point.unmeasured.empty();
              const bool timed = point.time.n > 0;
              const Tone tone = tone_of(point.frontier);
              const auto time = [timed](double ns) { return timed ? known(ns) : Cell(); };
              std::vector<Cell> cells = cells_of(point.label);
              cells.insert(cells.end(), varied->cells[i].begin(), varied->cells[i].end());
              const Cell n = measured ? Cell(point.time.n) : Cell();
              add_cells(
                  cells, n, time(point.time.median), time(point.time.p5), time(point.time.p95), n,
                  known(point.worst_snr_db), known(point.median_snr_db),
                  known(point.typical_x_snr_db), measured ? Cell(point.left_out) : Cell(),
                  measured ? toned(std::string(engine::name_of(point.frontier)), tone) : Cell());
              if (!all_measured) cells.emplace_back(point.unmeasured);
              if (summaries) add_cells(cells, point.summary, point.device);
              std::string full_name = point.label;
              if (!measured) full_name += "\n" + point.unmeasured;
              if (point.doubt) {
                full_name +=
                    "\n" + doubt_words(points, i, point.label, points[point.doubt->other].label);
              }
              sink({.cells = std::move(cells), .tone = tone, .full_name = std::move(full_name)});
            }
          },
      .note = frontier_scope_words(points)};
}

}  // namespace profiling

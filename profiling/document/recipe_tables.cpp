// Tables of what each recipe does to the same operand.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "engine/model/median_interval.h"
#include "engine/model/recipe_words.h"
#include "engine/model/snr_words.h"
#include "profiling/document/columns.h"
#include "profiling/document/quantity.h"
#include "profiling/document/run_tables.h"
#include "profiling/document/setting_names.h"
#include "profiling/session/session_file.h"

namespace profiling {
namespace {

using engine::QuantizationReport;

constexpr std::ptrdiff_t kBehindSnr = 10;  // of a comparison's columns

Column snr_column(const char* tooltip) {
  return column("snr_db", Measure::Decibels, "SNR", tooltip);
}

Column lost_snr_column() {
  return column("snr_lost_db", Measure::Decibels, "SNR lost",
                "SNR of the recipe chosen first minus the SNR of this one. Below 0: this one is "
                "better. With outliers the largest elements decide it: FP32 scales code the "
                "largest element of each block exactly, power-of-two scales do not. What the "
                "others lose is under 'typical'");
}

Cell lost_snr_cell(double lost_db) { return worded(known(lost_db), lost_snr_text(lost_db)); }

/// How many of the elements, and what share of them.
Column saturated_column() {
  return column("saturated", Measure::Count, {},
                "Elements whose scaled size is above the format's largest value");
}
Column underflowed_column() {
  return column("underflowed", Measure::Count, "underflow", kUnderflowMeaning);
}
Column lost_column() {
  return column("lost", Measure::Count, {},
                "Finite elements whose code decodes to infinity or NaN");
}

/// Below a table: where recipes do not count the same.
std::string notes(const engine::RecipeComparison& comparison) {
  std::string text;
  const engine::OperandRole role =
      comparison.request.weights ? engine::OperandRole::Weights : engine::OperandRole::Activations;
  const auto transformed = [role](const QuantizationReport& report) {
    return report.refused.empty() && has_transformed_codes(report.recipe, role, report.columnwise);
  };
  const auto square = [](const QuantizationReport& report) {
    return report.waste.scales > 0 && report.recipe.square_weight_blocks;
  };
  if (std::ranges::any_of(comparison.reports, transformed)) text = underflow_note();
  if (comparison.request.weights && std::ranges::any_of(comparison.reports, square)) {
    if (!text.empty()) text += " ";
    text +=
        "Wasted: a square block of 128x128 keeps one scale and counts once; one of 32x32 keeps one "
        "for each of its 32 rows, and each counts with the amax of its own row, which may be far "
        "smaller.";
  }
  return text;
}

void add_waste_columns(std::vector<Column>& columns) {
  columns.push_back(column(
      "wasted_binades", Measure::Number, "wasted, binades",
      "Part of the code's range that the scales leave unused, in binades "
      "(factors of two): mean of log2 of the scale that a block's amax asks for over the one "
      "used. Of every scale that is kept, so also of each part of a square that has its own"));
  columns.push_back(
      column("worst_binades", Measure::Number, "worst", "The same of the scale that wastes most"));
}

void add_waste_cells(std::vector<Cell>& cells, const engine::RangeWaste& waste) {
  for (const double binades : {waste.mean, waste.max}) {
    cells.push_back(waste.scales == 0 ? Cell()
                                      : worded(binades, engine::binades_text(waste, binades)));
  }
}

double snr_of(const engine::ExpertQuantization& expert) {
  return expert.rows > 0 ? expert.snr_db : kNaN;
}

/// NVFP4 and scales that are not rounded to powers of two waste nothing.
std::string waste_text(const engine::RangeWaste& waste) {
  if (waste.scales == 0) return "no scales that waste range";
  return fmt::format("range wasted by {} scales: mean {}, worst {} binades",
                     count_text(waste.scales), engine::binades_text(waste, waste.mean),
                     engine::binades_text(waste, waste.max));
}

/// What no column has.
std::string facts_text(const QuantizationReport& report, const std::string& name) {
  if (!report.refused.empty()) return name + " did not run. " + report.refused;
  const engine::OperandStatistics& statistics = report.statistics;
  return fmt::format(
      "{}\nSNR {}\n{} codes and {} bytes of scales for {} elements\n{}\nlargest relative error "
      "{}\n{}",
      name, engine::snr_text(statistics, kSnrDecimals),
      count_text(static_cast<std::uint64_t>(report.code_bytes)),
      count_text(static_cast<std::uint64_t>(report.scale_bytes)), count_text(statistics.elements),
      waste_text(report.waste), number_text(report.max_relative_error),
      report.times_ns.empty()
          ? "not timed"
          : fmt::format("n {}, {}", report.times_ns.size(), report.time_method));
}

/// Bytes of the report and of the copy both count reads and writes.
double against_copy(const engine::RecipeComparison& comparison, double moved_bytes, double ns) {
  if (comparison.copy_times_ns.empty()) return kNaN;
  const double of_copy = moved_bytes * engine::median_of(comparison.copy_times_ns) /
                         (static_cast<double>(comparison.copy_bytes) * ns);
  return std::isfinite(of_copy) ? of_copy : kNaN;
}

/// Of one expert at one step of a series.
Row series_row(const QuantizationReport& report, std::size_t expert) {
  const engine::ExpertQuantization& one = report.experts[expert];
  Cell snr = known(snr_of(one));
  snr.left_out = one.left_out();
  Row row{.cells =
              cells_of(report.step, engine::recipe_name(report.recipe, false), expert, one.rows)};
  if (one.delayed) {
    add_cells(row.cells, one.delayed->amax, one.delayed->history_amax, one.delayed->scale_used,
              one.delayed->scale_wanted);
  } else {
    row.cells.resize(row.cells.size() + 4);
  }
  add_cells(row.cells, alarming(one.saturated), one.underflowed, std::move(snr), one.left_out());
  return row;
}

}  // namespace

double lost_snr(double reference_db, double snr_db) {
  if (std::isinf(reference_db) && reference_db == snr_db) return 0.0;
  return std::isfinite(reference_db) && std::isfinite(snr_db) ? reference_db - snr_db : kNaN;
}

std::string lost_snr_text(double lost_db) {
  if (std::isnan(lost_db)) return "n/a";
  return fmt::format("{:.2f}", std::abs(lost_db) < 0.005 ? 0.0 : lost_db);  // never "-0.00"
}

Table comparison_table(const RecordedComparison& recorded,
                       std::optional<ChosenDirection> direction) {
  const ColumnUse only_of_all = direction ? ColumnUse::Files : ColumnUse::Everywhere;
  std::vector<Column> columns = {
      for_files("wall_clock_ms"),
      for_files("operand"),
      for_files("device"),
      for_files("recipe"),
      column("recipe_name", Measure::Words, "recipe", "How the operand is scaled and coded"),
      for_files("scaling"),
      column("direction", Measure::Words, {}, "Of the blocks", only_of_all),
      column("refused", Measure::Words, {}, "Why it did not run", only_of_all),
      for_files("elements", Measure::Count),
      snr_column("10 log10 of the sum of squares over the sum of squared errors. * leaves out "
                 "elements that are or became infinite or NaN"),
      column("median_block_snr_db", Measure::Decibels, "typical", kTypicalError),
      for_files("max_relative_error", Measure::Number),
      column("max_ulp", Measure::Count, "max. steps off",
             "Largest distance of a code from the nearest value, in steps of the format's own "
             "grid: 0 = every code is the nearest one. A saturated element counts with its "
             "distance from the format's largest value",
             ColumnUse::WideViews),
      saturated_column(),
      underflowed_column(),
      lost_column(),
      for_files("undefined", Measure::Count)};
  add_waste_columns(columns);
  columns.insert(
      columns.end(),
      {column("bits_per_element", Measure::Number, "bits/elem.",
              "Codes and scales together, per element"),
       for_files("code_bytes", Measure::Bytes), for_files("scale_bytes", Measure::Bytes),
       for_files("moved_bytes", Measure::Bytes),
       column("median_ns", Measure::Time, "median", "Median time of the timed launches"),
       column("of_copy", Measure::Share, "of copy",
              "Bytes per second of its launches relative to those of a copy timed "
              "between them"),
       for_files("copy_median_ns", Measure::Time), for_files("copy_bytes", Measure::Bytes)});
  if (direction) columns.insert(columns.begin() + kBehindSnr, lost_snr_column());
  const std::size_t count = columns.size();
  return {.name = "comparisons",
          .columns = std::move(columns),
          .rows =
              [&recorded, direction, count](const RowSink& sink) {
                const engine::RecipeComparison& comparison = recorded.comparison;
                if (comparison.request.series) return;  // series_table()
                const char* const operand = comparison.request.weights     ? "W"
                                            : comparison.request.gradients ? "dY"
                                                                           : "X";
                for (const QuantizationReport& report : comparison.reports) {
                  if (direction && report.columnwise != direction->columnwise) continue;
                  const std::string name =
                      engine::recipe_name(report.recipe, comparison.request.weights);
                  Row row{.cells = cells_of(recorded.wall_clock_ms, operand, comparison.device.name,
                                            recipe_title(report.recipe), name,
                                            engine::name_of(report.recipe.scaling),
                                            report.columnwise ? "columnwise" : "rowwise"),
                          .full_name = facts_text(report, name)};
                  if (!report.refused.empty()) {
                    if (direction) {
                      row.cells[4] = toned(worded(name, name + ": " + report.refused), Tone::Dim);
                    }
                    row.cells.emplace_back(report.refused);
                    row.cells.resize(count);
                    sink(row);
                    continue;
                  }
                  const engine::OperandStatistics& statistics = report.statistics;
                  const auto elements = static_cast<double>(statistics.elements);
                  const auto share = [elements](std::uint64_t part) {
                    return worded(alarming(part), share_text(static_cast<double>(part), elements));
                  };
                  const double ns =
                      report.times_ns.empty() ? kNaN : engine::median_of(report.times_ns);
                  const bool compared = statistics.left_out() < statistics.elements;
                  const auto add = [&row](auto&&... cells) {
                    (row.cells.emplace_back(std::forward<decltype(cells)>(cells)), ...);
                  };
                  add(Cell(), statistics.elements, snr_cell(statistics),
                      known(statistics.median_block_snr_db), report.max_relative_error,
                      compared ? Cell(report.max_ulp) : Cell(), share(statistics.saturated),
                      share(statistics.underflowed), share(statistics.lost), statistics.undefined);
                  add_waste_cells(row.cells, report.waste);
                  add(known(8.0 * static_cast<double>(report.code_bytes + report.scale_bytes) /
                            elements),
                      report.code_bytes, report.scale_bytes, report.moved_bytes, known(ns),
                      known(against_copy(comparison, static_cast<double>(report.moved_bytes), ns)),
                      comparison.copy_times_ns.empty()
                          ? Cell()
                          : Cell(engine::median_of(comparison.copy_times_ns)),
                      comparison.copy_bytes);
                  if (direction) {
                    const double reference = direction->reference == nullptr
                                                 ? kNaN
                                                 : direction->reference->statistics.snr_db;
                    row.cells.insert(row.cells.begin() + kBehindSnr,
                                     lost_snr_cell(lost_snr(reference, statistics.snr_db)));
                  }
                  sink(row);
                }
              },
          .note = notes(recorded.comparison),
          .only_with_rows = true};
}

Table recipe_experts_table(std::vector<const QuantizationReport*> reports, bool weights) {
  std::vector<Column> columns = {
      column("recipe", Measure::Words, {}, "Those that are chosen in the table of recipes"),
      column("expert", Measure::Count, "exp.", "Number of the expert"),
      column("rows", Measure::Count, {}, "Rows of the operand"),
      snr_column("Of this expert's rows. * leaves out elements as in the table of recipes"),
      for_files("left_out", Measure::Count),
      lost_snr_column()};
  add_waste_columns(columns);
  columns.insert(columns.end(), {underflowed_column(), saturated_column(), lost_column()});
  return {.name = "recipe_experts",
          .columns = std::move(columns),
          .rows = [reports = std::move(reports), weights](const RowSink& sink) {
            if (reports.empty()) return;
            const std::vector<engine::ExpertQuantization>& first = reports.front()->experts;
            for (std::size_t e = 0; e < first.size(); ++e) {
              for (const QuantizationReport* report : reports) {
                const engine::ExpertQuantization one =
                    e < report->experts.size() ? report->experts[e] : engine::ExpertQuantization{};
                Cell snr = known(snr_of(one));
                snr.left_out = one.left_out();
                Row row{.cells = cells_of(engine::recipe_name(report->recipe, weights), e, one.rows,
                                          std::move(snr), one.left_out(),
                                          lost_snr_cell(lost_snr(snr_of(first[e]), snr_of(one))))};
                add_waste_cells(row.cells, one.waste);
                for (const std::uint64_t elements : {one.underflowed, one.saturated, one.lost}) {
                  row.cells.emplace_back(elements);
                }
                sink(row);
              }
            }
          }};
}

Table series_table(const RecordedComparison& recorded, int recipe) {
  std::vector<Column> columns = {
      column("step", Measure::Count),
      column("recipe", Measure::Words, {}, "How X is scaled and coded",
             recipe < 0 ? ColumnUse::Everywhere : ColumnUse::Files),
      column("expert", Measure::Count, "exp.", "Number of the expert"),
      column("rows", Measure::Count, {}, "Rows of X in this step"),
      column("amax", Measure::Number, {}, "Largest magnitude of the expert's rows in this step"),
      column("history_amax", Measure::Number, "from history",
             "The amax that the scale is based on"),
      column("scale_used", Measure::Number, "scale used"),
      column("scale_wanted", Measure::Number, "scale wanted",
             "The scale that this step's own amax requires"),
      saturated_column(),
      underflowed_column(),
      snr_column("Of this expert's rows in this step"),
      for_files("left_out", Measure::Count)};
  return {.name = "recipe_steps",
          .columns = std::move(columns),
          .rows =
              [&recorded, recipe](const RowSink& sink) {
                const engine::RecipeComparison& comparison = recorded.comparison;
                if (!comparison.request.series) return;
                for (std::size_t i = 0; i < comparison.reports.size(); ++i) {
                  const QuantizationReport& report = comparison.reports[i];
                  const std::size_t number = i % comparison.request.recipes.size();
                  if (recipe >= 0 && number != static_cast<std::size_t>(recipe)) continue;
                  for (std::size_t e = 0; e < report.experts.size(); ++e) {
                    sink(series_row(report, e));
                  }
                }
              },
          .only_with_rows = true};
}

Table series_summary_table(const RecordedComparison& recorded) {
  std::vector<Column> columns = {
      column("step", Measure::Count),
      column("recipe", Measure::Words, {}, "How X is scaled and coded"),
      column("worst_expert", Measure::Count, "worst expert", "The one with the lowest SNR"),
      snr_column("Of the worst expert's rows in this step"),
      saturated_column(),
      underflowed_column()};
  return {.name = "recipe_steps_summary",
          .title = "The expert with the lowest SNR in every step:",
          .columns = std::move(columns),
          .rows = [&recorded](const RowSink& sink) {
            for (const QuantizationReport& report : recorded.comparison.reports) {
              std::optional<std::size_t> worst;
              for (std::size_t e = 0; e < report.experts.size(); ++e) {
                const double snr = report.experts[e].snr_db;
                if (!std::isnan(snr) && (!worst || snr < report.experts[*worst].snr_db)) worst = e;
              }
              Row row{.cells = cells_of(report.step, engine::recipe_name(report.recipe, false))};
              if (worst) {
                const auto& expert = report.experts[*worst];
                Cell snr = known(snr_of(expert));
                snr.left_out = expert.left_out();
                add_cells(row.cells, *worst, std::move(snr), alarming(expert.saturated),
                          expert.underflowed);
              } else {
                row.cells.resize(row.cells.size() + 4);
              }
              sink(row);
            }
          }};
}

}  // namespace profiling

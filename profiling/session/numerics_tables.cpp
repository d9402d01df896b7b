#include "profiling/session/numerics_tables.h"

#include <fmt/format.h>

#include "profiling/session/comparison_table.h"
#include "profiling/session/float_blob.h"
#include "profiling/session/numerics_schema.h"
#include "profiling/session/run_table.h"
#include "profiling/session/table_cells.h"

namespace profiling {
namespace {

bool has_spread(const engine::ScaleMap& map) { return map.summary.scales > 0; }

template <class... Key>
void spread_row(TableWriter& table, const engine::ScaleMap& map, const Key&... key) {
  const engine::ScaleSummary& summary = map.summary;
  table.row(key..., summary.scales, summary.distinct, summary.mean, summary.deviation,
            summary.saturated, summary.underflowed, !map.saturated_share.empty(),
            compress_floats(map.minimum), compress_floats(map.deviation),
            compress_floats(map.saturated_share), compress_floats(map.underflowed_share));
}

void read_spread(const TableSource& source, RowReader& rows, engine::ScaleMap& map) {
  engine::ScaleSummary& summary = map.summary;
  const auto count = [&rows](const char* column) {
    return static_cast<std::uint64_t>(rows.count(column));
  };
  summary.scales = count("scales");
  summary.distinct = count("distinct_scales");
  summary.mean = rows.real("mean");
  summary.deviation = rows.real("deviation");
  summary.saturated = count("saturated");
  summary.underflowed = count("underflowed");
  const bool losses = rows.integer<int>("has_losses", 0, 1) != 0;
  if (!rows.ok()) return;
  const auto cells = static_cast<std::size_t>(map.rows) * static_cast<std::size_t>(map.columns);
  if (!source.budget.take(4 * cells * sizeof(float))) {
    rows.refuse(fmt::format("the file needs more memory than the limit of {} bytes",
                            source.budget.limit()));
    return;
  }
  map.minimum = cells_of(rows, "cell_minimum", cells);
  map.deviation = cells_of(rows, "cell_deviation", cells);
  map.saturated_share = cells_of(rows, "cell_saturated", losses ? cells : 0);
  map.underflowed_share = cells_of(rows, "cell_underflowed", losses ? cells : 0);
}

engine::RangeWaste waste_of(RowReader& rows) {
  engine::RangeWaste waste;
  waste.scales = static_cast<std::uint64_t>(rows.count("waste_scales"));
  waste.mean = rows.real("waste_mean");
  waste.max = rows.real("waste_max");
  return waste;
}

void read_facts(RowReader& rows, engine::Recipe& recipe) {
  recipe.gradient_format =
      static_cast<engine::Fp8Format>(rows.choice("gradient_format", kFormatNames));
  recipe.square_activation_blocks = rows.integer<int>("square_activation_blocks", 0, 1) != 0;
  recipe.square_gradient_blocks = rows.integer<int>("square_gradient_blocks", 0, 1) != 0;
}

engine::Status read_run_spreads(const TableSource& source, Session& session) {
  RunTable spreads(source, session, "scale_spreads",
                   "SELECT * FROM scale_spreads ORDER BY run_id, operand", 0);
  return spreads.each([&source](RecordedRun& run, RowReader& rows) {
    engine::OperandStatistics* const operands[] = {&run.result.activations, &run.result.weights,
                                                   &run.result.gradients};
    const std::size_t operand = rows.choice("operand", kOperandNames);
    if (rows.ok()) read_spread(source, rows, operands[operand]->scale_map);
  });
}

engine::Status read_comparison_spreads(const TableSource& source, Session& session) {
  ComparisonTable spreads(source, session, "comparison_scale_spreads",
                          "SELECT * FROM comparison_scale_spreads ORDER BY comparison_id, report",
                          0);
  return spreads.each_report([&source](engine::QuantizationReport& report, RowReader& rows) {
    read_spread(source, rows, report.statistics.scale_map);
  });
}

engine::Status read_report_facts(const TableSource& source, Session& session) {
  ComparisonTable facts(source, session, "comparison_report_facts",
                        "SELECT * FROM comparison_report_facts ORDER BY comparison_id, report", 0);
  return facts.each_report([](engine::QuantizationReport& report, RowReader& rows) {
    read_facts(rows, report.recipe);
    report.waste = waste_of(rows);
  });
}

engine::Status read_recipe_facts(const TableSource& source, Session& session) {
  ComparisonTable facts(source, session, "comparison_recipe_facts",
                        "SELECT * FROM comparison_recipe_facts ORDER BY comparison_id, position",
                        0);
  return facts.each([](engine::RecipeComparison& comparison, RowReader& rows) {
    std::vector<engine::Recipe>& recipes = comparison.request.recipes;
    const auto position = rows.integer<std::size_t>("position", 0, std::ssize(recipes) - 1);
    if (rows.ok()) read_facts(rows, recipes[position]);
  });
}

engine::Status read_experts(const TableSource& source, Session& session) {
  ComparisonTable experts(source, session, "comparison_experts",
                          "SELECT * FROM comparison_experts ORDER BY comparison_id, report, expert",
                          sizeof(engine::ExpertQuantization));
  return experts.each_report([](engine::QuantizationReport& report, RowReader& rows) {
    if (!at_next(rows, "expert", report.experts.size(), engine::kMaxExperts)) return;
    engine::ExpertQuantization expert;
    expert.rows = rows.count("tokens");
    expert.snr_db = rows.real_or_nan("snr_db");
    expert.saturated = static_cast<std::uint64_t>(rows.count("saturated"));
    expert.underflowed = static_cast<std::uint64_t>(rows.count("underflowed"));
    expert.waste = waste_of(rows);
    report.experts.push_back(expert);
  });
}

}  // namespace

engine::Status read_numerics_tables(const TableSource& source, Session& session) {
  for (const auto read : {read_run_spreads, read_comparison_spreads, read_report_facts,
                          read_recipe_facts, read_experts}) {
    if (engine::Status status = read(source, session); !status.ok()) return status;
  }
  return {};
}

engine::Status write_numerics_tables(const Target& to, std::int64_t run_id,
                                     const RecordedRun& run) {
  TableWriter spreads(to, "scale_spreads", 13);
  std::size_t name = 0;
  for (const engine::OperandStatistics* operand :
       {&run.result.activations, &run.result.weights, &run.result.gradients}) {
    const std::string_view operand_name = kOperandNames[name++];
    if (operand == &run.result.gradients && !run.result.backward) continue;
    if (has_spread(operand->scale_map)) {
      spread_row(spreads, operand->scale_map, run_id, operand_name);
    }
  }
  return spreads.take();
}

engine::Status write_comparison_numerics(const Target& to, std::int64_t comparison_id,
                                         const engine::RecipeComparison& comparison) {
  TableWriter spreads(to, "comparison_scale_spreads", 13);
  TableWriter reports(to, "comparison_report_facts", 8);
  TableWriter recipes(to, "comparison_recipe_facts", 5);
  TableWriter experts(to, "comparison_experts", 10);
  std::int64_t position = 0;
  for (const engine::Recipe& recipe : comparison.request.recipes) {
    recipes.row(comparison_id, position++,
                kFormatNames[static_cast<std::size_t>(recipe.gradient_format)],
                recipe.square_activation_blocks, recipe.square_gradient_blocks);
  }
  position = 0;
  for (const engine::QuantizationReport& report : comparison.reports) {
    reports.row(comparison_id, position,
                kFormatNames[static_cast<std::size_t>(report.recipe.gradient_format)],
                report.recipe.square_activation_blocks, report.recipe.square_gradient_blocks,
                report.waste.scales, report.waste.mean, report.waste.max);
    if (has_spread(report.statistics.scale_map)) {
      spread_row(spreads, report.statistics.scale_map, comparison_id, position);
    }
    std::int64_t index = 0;
    for (const engine::ExpertQuantization& expert : report.experts) {
      experts.row(comparison_id, position, index++, expert.rows, expert.snr_db, expert.saturated,
                  expert.underflowed, expert.waste.scales, expert.waste.mean, expert.waste.max);
    }
    ++position;
  }
  for (TableWriter* table : {&spreads, &reports, &recipes, &experts}) {
    if (engine::Status status = table->take(); !status.ok()) return status;
  }
  return {};
}

}  // namespace profiling

// As run_tables.cpp: positions count up from 0, and vectors grow by the rows that are there.
#include <fmt/format.h>

#include "profiling/session/comparison_table.h"
#include "profiling/session/comparison_tables.h"
#include "profiling/session/schema.h"
#include "profiling/session/table_cells.h"

namespace profiling {
namespace {

bool flag(RowReader& rows, const char* column) { return rows.integer<int>(column, 0, 1) != 0; }

engine::Recipe recipe_of(RowReader& rows) {
  engine::Recipe recipe;
  recipe.scaling = static_cast<engine::Scaling>(rows.choice("scaling", kScalingNames));
  recipe.activation_format =
      static_cast<engine::Fp8Format>(rows.choice("activation_format", kFormatNames));
  recipe.pow2_scales = flag(rows, "pow2_scales");
  recipe.amax_epsilon = static_cast<float>(rows.real("amax_epsilon"));
  recipe.split_accumulator = flag(rows, "split_accumulator");
  recipe.delayed.history_length = rows.integer<int>("history_length", 1, engine::kMaxHistoryLength);
  recipe.delayed.algorithm =
      static_cast<kernels::AmaxAlgorithm>(rows.choice("amax_algorithm", kAlgorithmNames));
  recipe.delayed.margin = rows.integer<int>("margin", -engine::kMaxMargin, engine::kMaxMargin);
  recipe.square_weight_blocks = flag(rows, "square_weight_blocks");
  recipe.hadamard = flag(rows, "hadamard");
  recipe.stochastic_rounding = flag(rows, "stochastic_rounding");
  return recipe;
}

engine::Status read_headers(const TableSource& source, Session& session) {
  RowReader rows(source.database, source.path, "comparisons",
                 "SELECT * FROM comparisons ORDER BY comparison_id", source.budget,
                 sizeof(RecordedComparison));
  while (rows.next()) {
    if (std::ssize(session.comparisons) == source.limits.max_runs) {
      rows.refuse(fmt::format("the file has more comparisons than the limit of {}",
                              source.limits.max_runs));
      break;
    }
    RecordedComparison recorded;
    engine::RecipeComparison& comparison = recorded.comparison;
    at_next(rows, "comparison_id", session.comparisons.size() + 1, source.limits.max_runs + 1);
    comparison.id =
        rows.integer<std::uint64_t>("order_id", RowReader::kAnyLow, RowReader::kAnyHigh);
    recorded.wall_clock_ms = rows.count("wall_clock_ms");
    comparison.request.request = request_of(rows, "request_json", source.codec);
    const std::size_t operand = rows.choice("operand", kOperandNames);
    comparison.request.weights = operand == 1;
    comparison.request.gradients = operand == 2;
    comparison.request.sample_row = rows.count("sample_row");
    comparison.request.sample_column = rows.count("sample_column");
    comparison.request.timed_launches =
        rows.integer<int>("timed_launches", 0, engine::kMaxTimedLaunches);
    comparison.device = device_of(rows);
    comparison.copy_bytes = rows.count("copy_bytes");
    comparison.wall_ns = rows.count("wall_ns");
    if (!rows.ok()) break;
    session.comparisons.push_back(std::move(recorded));
  }
  return rows.take();
}

engine::Status read_recipes(const TableSource& source, Session& session) {
  ComparisonTable table(source, session, "comparison_recipes",
                        "SELECT * FROM comparison_recipes ORDER BY comparison_id, position",
                        sizeof(engine::Recipe));
  return table.each([](engine::RecipeComparison& comparison, RowReader& rows) {
    std::vector<engine::Recipe>& recipes = comparison.request.recipes;
    if (!at_next(rows, "position", recipes.size(), engine::kMaxComparedRecipes)) return;
    recipes.push_back(recipe_of(rows));
  });
}

engine::Status read_splits(const TableSource& source, Session& session) {
  ComparisonTable table(source, session, "comparison_splits",
                        "SELECT * FROM comparison_splits ORDER BY comparison_id, expert",
                        sizeof(std::int64_t));
  return table.each([](engine::RecipeComparison& comparison, RowReader& rows) {
    if (!at_next(rows, "expert", comparison.splits.size(), engine::kMaxExperts)) return;
    comparison.splits.push_back(rows.count("tokens"));
  });
}

engine::Status read_copies(const TableSource& source, Session& session) {
  ComparisonTable table(source, session, "comparison_copies",
                        "SELECT * FROM comparison_copies ORDER BY comparison_id, launch",
                        sizeof(std::int64_t));
  return table.each([](engine::RecipeComparison& comparison, RowReader& rows) {
    std::vector<std::int64_t>& times = comparison.copy_times_ns;
    if (!at_next(rows, "launch", times.size(), RowReader::kAnyHigh)) return;
    times.push_back(rows.count("duration_ns"));
  });
}

engine::Status read_reports(const TableSource& source, Session& session) {
  ComparisonTable table(source, session, "comparison_reports",
                        "SELECT * FROM comparison_reports ORDER BY comparison_id, position",
                        sizeof(engine::QuantizationReport) + 256 * sizeof(std::uint64_t));
  return table.each([](engine::RecipeComparison& comparison, RowReader& rows) {
    if (!at_next(rows, "position", comparison.reports.size(), kMaxComparisonReports)) return;
    engine::QuantizationReport report;
    report.recipe = recipe_of(rows);
    report.columnwise = rows.choice("direction", kDirectionNames) == 1;
    report.refused = rows.text("refused");
    report.statistics.elements = static_cast<std::uint64_t>(rows.count("elements"));
    report.statistics.saturated = static_cast<std::uint64_t>(rows.count("saturated"));
    report.statistics.underflowed = static_cast<std::uint64_t>(rows.count("underflowed"));
    report.statistics.snr_db = rows.real_or_nan("snr_db");
    report.max_relative_error = rows.real_or_nan("max_relative_error");
    report.max_ulp = rows.count("max_ulp");
    report.code_bytes = rows.count("code_bytes");
    report.scale_bytes = rows.count("scale_bytes");
    report.moved_bytes = rows.count("moved_bytes");
    report.code_counts.resize(rows.integer<std::size_t>("code_kinds", 0, 256));
    report.time_method = rows.text("time_method");
    if (rows.ok()) comparison.reports.push_back(std::move(report));
  });
}

engine::Status read_times(const TableSource& source, Session& session) {
  ComparisonTable table(source, session, "comparison_times",
                        "SELECT * FROM comparison_times ORDER BY comparison_id, report, launch",
                        sizeof(std::int64_t));
  return table.each_report([](engine::QuantizationReport& report, RowReader& rows) {
    if (!at_next(rows, "launch", report.times_ns.size(), RowReader::kAnyHigh)) return;
    report.times_ns.push_back(rows.count("duration_ns"));
  });
}

engine::Status read_codes(const TableSource& source, Session& session) {
  ComparisonTable table(source, session, "comparison_codes",
                        "SELECT * FROM comparison_codes ORDER BY comparison_id, report, code", 0);
  return table.each_report([](engine::QuantizationReport& report, RowReader& rows) {
    const auto code = rows.integer<std::size_t>("code", 0, std::ssize(report.code_counts) - 1);
    const auto count = static_cast<std::uint64_t>(rows.count("count"));
    if (rows.ok()) report.code_counts[code] = count;
  });
}

engine::MagnitudeHistogram& histogram_of(engine::QuantizationReport& report, RowReader& rows) {
  engine::OperandStatistics& statistics = report.statistics;
  engine::MagnitudeHistogram* const kinds[] = {&statistics.before, &statistics.after,
                                               &statistics.amax, &statistics.scale};
  return *kinds[rows.choice("kind", kHistogramKinds)];
}

engine::Status read_histograms(const TableSource& source, Session& session) {
  ComparisonTable histograms(
      source, session, "comparison_histograms",
      "SELECT * FROM comparison_histograms ORDER BY comparison_id, report, kind",
      kHistogramBins * sizeof(std::uint64_t));
  engine::Status status =
      histograms.each_report([](engine::QuantizationReport& report, RowReader& rows) {
        engine::MagnitudeHistogram& histogram = histogram_of(report, rows);
        histogram.first_bin = rows.integer<int>("first_bin", 0, kHistogramBins);
        histogram.counts.resize(
            rows.integer<std::size_t>("bin_count", 0, kHistogramBins - histogram.first_bin));
        histogram.zeros = static_cast<std::uint64_t>(rows.count("zeros"));
        histogram.infinities = static_cast<std::uint64_t>(rows.count("infinities"));
        histogram.nans = static_cast<std::uint64_t>(rows.count("nans"));
      });
  if (!status.ok()) return status;
  ComparisonTable bins(source, session, "comparison_histogram_bins",
                       "SELECT comparison_id, report, kind, bin, count FROM "
                       "comparison_histogram_bins ORDER BY comparison_id, report, kind, bin",
                       0);
  return bins.each_report([](engine::QuantizationReport& report, RowReader& rows) {
    engine::MagnitudeHistogram& histogram = histogram_of(report, rows);
    const std::int64_t first = histogram.first_bin;
    const auto bin =
        rows.integer<std::int64_t>("bin", first, first + std::ssize(histogram.counts) - 1);
    const auto count = static_cast<std::uint64_t>(rows.count("count"));
    if (rows.ok()) histogram.counts[static_cast<std::size_t>(bin - first)] = count;
  });
}

engine::Status read_scale_maps(const TableSource& source, Session& session) {
  ComparisonTable maps(source, session, "comparison_scale_maps",
                       "SELECT * FROM comparison_scale_maps ORDER BY comparison_id, report", 0);
  engine::Status status =
      maps.each_report([&source](engine::QuantizationReport& report, RowReader& rows) {
        engine::ScaleMap& map = report.statistics.scale_map;
        map.block_rows = rows.count("block_rows");
        map.block_columns = rows.count("block_columns");
        map.source_rows = rows.count("source_rows");
        map.source_columns = rows.count("source_columns");
        map.rows = rows.integer<int>("rows", 0, kMaxMapSide);
        map.columns = rows.integer<int>("columns", 0, kMaxMapSide);
        if (!rows.ok()) return;
        const auto cells =
            static_cast<std::size_t>(map.rows) * static_cast<std::size_t>(map.columns);
        if (!source.budget.take(2 * cells * sizeof(float))) {
          rows.refuse(fmt::format("the file needs more memory than the limit of {} bytes",
                                  source.budget.limit()));
          return;
        }
        map.mean = cells_of(rows, "mean", cells);
        map.maximum = cells_of(rows, "maximum", cells);
      });
  if (!status.ok()) return status;
  ComparisonTable experts(source, session, "comparison_scale_map_experts",
                          "SELECT * FROM comparison_scale_map_experts ORDER BY comparison_id, "
                          "report, position",
                          sizeof(std::int64_t));
  return experts.each_report([](engine::QuantizationReport& report, RowReader& rows) {
    std::vector<std::int64_t>& first = report.statistics.scale_map.expert_first_row;
    if (!at_next(rows, "position", first.size(), engine::kMaxExperts + 1)) return;
    first.push_back(rows.count("first_row"));
  });
}

std::vector<std::uint8_t> codes_of(RowReader& rows, std::size_t count) {
  const std::span<const std::byte> blob = rows.blob("codes");
  if (rows.ok() && blob.size() != count) {
    rows.refuse(fmt::format("blob codes has {} bytes where {} belong", blob.size(), count));
  }
  if (!rows.ok()) return {};
  const auto* first = reinterpret_cast<const std::uint8_t*>(blob.data());
  return {first, first + blob.size()};
}

engine::Status read_samples(const TableSource& source, Session& session) {
  ComparisonTable table(source, session, "comparison_samples",
                        "SELECT * FROM comparison_samples ORDER BY comparison_id, report",
                        engine::kMaxSampleSide * engine::kMaxSampleSide * 13);
  return table.each_report([](engine::QuantizationReport& report, RowReader& rows) {
    engine::QuantizationSample& sample = report.sample;
    sample.row = rows.count("first_row");
    sample.column = rows.count("first_column");
    sample.rows = rows.integer<int>("rows", 0, engine::kMaxSampleSide);
    sample.columns = rows.integer<int>("columns", 0, engine::kMaxSampleSide);
    if (!rows.ok()) return;
    const auto cells =
        static_cast<std::size_t>(sample.rows) * static_cast<std::size_t>(sample.columns);
    sample.original = cells_of(rows, "original", cells);
    sample.codes = codes_of(rows, cells);
    sample.scale_inv = cells_of(rows, "scale_inv", cells);
    sample.decoded = cells_of(rows, "decoded", cells);
  });
}

}  // namespace

engine::Status read_comparisons(const TableSource& source, Session& session) {
  for (const auto read : {read_headers, read_recipes, read_splits, read_copies, read_reports,
                          read_times, read_codes, read_histograms, read_scale_maps, read_samples}) {
    if (engine::Status status = read(source, session); !status.ok()) return status;
  }
  return {};
}

}  // namespace profiling

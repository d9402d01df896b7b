// The tables of the sample run, in which every field has a value of its own.
#include "profiling/document/run_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "profiling/document/doctor_tables.h"
#include "profiling/document/headline.h"
#include "profiling/document/power_words.h"
#include "profiling/document/run_document.h"
#include "profiling/document/text.h"
#include "profiling/export/csv.h"
#include "tests/unit/session/sample_recording.h"
#include "tests/unit/session/sample_visit.h"

namespace profiling {
namespace {

using testing::HasSubstr;

void expect_sound(const Table& table) {
  std::set<std::string> keys;
  for (const Column& column : table.columns) {
    if (column.for_files()) {
      EXPECT_FALSE(column.key.empty()) << table.name;
      EXPECT_TRUE(keys.insert(column.key).second)
          << table.name << " has " << column.key << " twice";
    }
    if (column.for_people()) {
      EXPECT_FALSE(column.heading().empty()) << table.name;
    }
  }
  std::size_t rows = 0;
  table.rows([&](const Row& row) {
    ++rows;
    EXPECT_EQ(row.cells.size(), table.columns.size()) << table.name << ", row " << rows;
  });
}

TEST(ComparisonTable, SaysNothingOfTheRangeThatNoScaleWastes) {
  RecordedComparison comparison = sample_comparison(4);
  const auto first_tooltip = [&comparison] {
    return all_rows(comparison_table(comparison)).front().full_name;
  };
  engine::QuantizationReport& report = comparison.comparison.reports.front();
  report.refused.clear();
  report.waste = {.scales = 12, .mean = 0.25, .max = 0.5};
  EXPECT_NE(first_tooltip().find("range wasted by 12 scales: mean 0.25"), std::string::npos)
      << first_tooltip();
  report.waste = {};
  EXPECT_NE(first_tooltip().find("no scales that waste range"), std::string::npos);
  EXPECT_EQ(first_tooltip().find("n/a"), std::string::npos) << first_tooltip();
}

TEST(RunTables, EveryRowHasACellPerColumn) {
  const RecordedRun run = sample_run(3);
  std::set<std::string> names;
  for (const Table& table : run_tables(run)) {
    expect_sound(table);
    EXPECT_TRUE(names.insert(table.name).second) << table.name;
  }
  expect_sound(expert_spread_table(run.result));
  expect_sound(tiled_launches_table(run.result));
  expect_sound(roofline_table(run));
  expect_sound(operations_table(run.result.effective, explained_step(run.result)));
  const RecordedComparison comparison = sample_comparison(4);
  expect_sound(comparison_table(comparison));
  const RecordedVisit visit = sample_visit(5);
  expect_sound(findings_table(visit));
  expect_sound(findings_table(visit.report));
  expect_sound(output_checks_table(visit.report));
  expect_sound(snapshot_nodes_table(visit.report.snapshot));
}

TEST(DoctorTables, NodesAreThoseOfOneGraphOrOfAll) {
  const Snapshot snapshot = sample_visit(5).report.snapshot;
  ASSERT_GT(snapshot.graphs.size(), 1U);
  std::size_t all = 0;
  for (std::size_t g = 0; g < snapshot.graphs.size(); ++g) {
    EXPECT_EQ(all_rows(snapshot_nodes_table(snapshot, g)).size(), snapshot.graphs[g].nodes.size());
    all += snapshot.graphs[g].nodes.size();
  }
  EXPECT_EQ(all_rows(snapshot_nodes_table(snapshot)).size(), all);
}

TEST(DoctorTables, PeopleSeeWhatTheCardsCopy) {
  const RecordedVisit visit = sample_visit(5);
  for (const Table& table : {findings_table(visit.report), output_checks_table(visit.report),
                             snapshot_nodes_table(visit.report.snapshot)}) {
    EXPECT_FALSE(shown_columns(table).empty()) << table.name;
    EXPECT_EQ(shown_columns(table), shown_columns(table, all_rows(table))) << table.name;
  }
}

TEST(Roofline, HasItsPointsAlsoWithoutRoofs) {
  RecordedRun run = sample_run(3);
  const std::size_t points = roofline_points(run.result, run.activity).size();
  run.result.measurements.ceilings = {};
  EXPECT_EQ(all_rows(roofline_table(run)).size(), points);
  EXPECT_THAT(text_of(run_document(run, "")), testing::Not(HasSubstr("own copy and dense")));
}

std::string csv_row(const Table& table, std::size_t row) {
  const Table one = table_of(table.name, table.columns, {all_rows(table).at(row)});
  return csv_text(one);
}

TEST(Kernels, OnlyTheOneThatDoesTheWorkOfAnOperationHasItsRoof) {
  RecordedRun run = sample_run(3);
  run.result.measurements.ceilings.copy_bytes_per_s = 1e12;
  run.result.measurements.ceilings.product_flop_per_s = 1e14;
  run.result.measurements.ceilings.copies = run.result.measurements.ceilings.products = 1;
  run.activity.names = {"memset", "product"};
  const auto row = [](std::uint32_t name, double ns) {
    KernelSummary kernel;
    kernel.name = name;
    kernel.stage = engine::Stage::Fprop;
    kernel.time.n = 1;
    kernel.time.median = kernel.time.sum = ns;
    return kernel;
  };
  OperationPoint point;
  point.median_ns = 1e6;
  point.work.flop = 1e10;
  point.work.bytes = 1e6;
  // The order of the rows is the reader's.
  const std::vector<Row> rows = all_rows(kernels_table(run, {row(0, 768.0), row(1, 1e6)}, {point}));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_TRUE(rows[0].cells.back().empty()) << "a memset reaches nothing of the product's roof";
  EXPECT_THAT(rows[0].full_name, testing::HasSubstr("A small part of its operation"));
  ASSERT_NE(rows[1].cells.back().text(), nullptr);
  EXPECT_THAT(*rows[1].cells.back().text(), testing::EndsWith(" %"));
  EXPECT_THAT(rows[1].full_name, testing::HasSubstr("fprop achieves"));
}

TEST(Roofline, OfSomePointsHasOnlyTheirRows) {
  const RecordedRun run = sample_run(3);
  const std::vector<RooflinePoint> points = roofline_points(run.result, run.activity);
  ASSERT_FALSE(points.empty());
  EXPECT_EQ(csv_text(roofline_table(run, points)), csv_text(roofline_table(run)));
  const Table last = roofline_table(run, {&points.back(), 1});
  ASSERT_EQ(all_rows(last).size(), 1U);
  EXPECT_EQ(csv_text(last), csv_row(roofline_table(run), points.size() - 1));
}

TEST(Power, OfOneSampleHasOnlyItsRow) {
  const std::vector<PowerSample> samples = {{.time_ns = 10, .sm_clock_mhz = 1500},
                                            {.time_ns = 20, .sm_clock_mhz = 1800}};
  const std::vector<engine::Iteration> iterations = {{.start_ns = 0, .duration_ns = 15}};
  const Table last = power_table({&samples.back(), 1}, iterations);
  ASSERT_EQ(all_rows(last).size(), 1U);
  EXPECT_EQ(csv_text(last), csv_row(power_table(samples, iterations), 1));
}

TEST(Power, EachSampleSaysWhetherItIsInTheTimedIterations) {
  const std::vector<PowerSample> samples = {{.time_ns = -5}, {.time_ns = 10}, {.time_ns = 20}};
  const std::vector<engine::Iteration> iterations = {{.start_ns = 0, .duration_ns = 5},
                                                     {.start_ns = 5, .duration_ns = 10}};
  const Table table = power_table(samples, iterations);
  const std::size_t timed = table.columns.size() - 1;
  ASSERT_EQ(table.columns[timed].key, "timed");
  std::vector<std::string> cells;
  for (const Row& row : all_rows(table)) {
    cells.push_back(shown(table.columns[timed], row.cells[timed]));
  }
  EXPECT_EQ(cells, (std::vector<std::string>{"no", "yes", "no"}));
}

TEST(Power, TheSentenceNamesTheTimedPartAndTheWholeRun) {
  std::vector<PowerSample> samples = {
      {.time_ns = -5, .sm_clock_mhz = 1900, .power_w = 875.0, .temperature_c = 50},
      {.time_ns = 10, .sm_clock_mhz = 1800, .power_w = 735.0, .temperature_c = 50}};
  const std::vector<engine::Iteration> iterations = {{.start_ns = 0, .duration_ns = 15}};
  EXPECT_EQ(power_text(samples, iterations),
            "1800 MHz (lowest 1800), 735 W (highest 735), 50 C, 1 reading in the timed "
            "iterations; whole run: 2 readings, highest 875 W");
  samples.erase(samples.begin());
  EXPECT_EQ(power_text(samples, iterations).find("whole run"), std::string::npos);
}

TEST(Power, TheSentenceCountsTheSensorsValuesBesideReadings) {
  std::vector<PowerSample> samples;
  for (int i = 0; i < 40; ++i) {
    samples.push_back({.time_ns = i * std::int64_t{20'000'000},
                       .sm_clock_mhz = 1800,
                       .power_w = 300.0 + i / 5,
                       .temperature_c = 50});
  }
  const std::vector<engine::Iteration> iterations = {{.start_ns = 0, .duration_ns = 395'000'000}};
  EXPECT_EQ(power_text(samples, iterations),
            "1800 MHz (lowest 1800), 302 W (highest 303), 50 C, 20 readings (4 values of power) in "
            "the timed iterations; whole run: 40 readings (8 values of power), highest 307 W. The "
            "power sensor refreshes about every 100 ms and holds its value in between: the "
            "power of a shorter step is unknown.");
}

TEST(ReadOuts, TheColumnsThatAreColouredHaveTheirKeys) {
  const auto has = [](const Table& table, std::string_view key) {
    return std::ranges::find(table.columns, key, &Column::key) != table.columns.end();
  };
  for (const char* key : {"flop_per_s", "of_copy", "of_product"}) {
    EXPECT_TRUE(has(roofline_table({}, {}), key)) << key;
  }
  for (const char* key : {"power_w", "sm_clock_mhz"})
    EXPECT_TRUE(has(power_table({}, {}), key)) << key;
}

TEST(RunTables, ColumnsAreTheSameForEveryRun) {
  const RecordedRun full = sample_run(3);
  const RecordedRun empty;
  const std::vector<Table> some = run_tables(full);
  const std::vector<Table> none = run_tables(empty);
  ASSERT_EQ(some.size(), none.size());
  for (std::size_t i = 0; i < some.size(); ++i) {
    EXPECT_EQ(some[i].name, none[i].name);
    ASSERT_EQ(some[i].columns.size(), none[i].columns.size()) << some[i].name;
    for (std::size_t c = 0; c < some[i].columns.size(); ++c) {
      EXPECT_EQ(some[i].columns[c].key, none[i].columns[c].key);
    }
    EXPECT_LE(all_rows(none[i]).size(), some[i].name == "runs" ? 1U : 0U) << some[i].name;
  }
}

TEST(RunsTable, SaysWhereRunsWereMadeIfThatDiffers) {
  const RecordedRun first = sample_run(3);
  RecordedRun second = first;
  const auto headings = [&] {
    const Table table = runs_table({{.run = &first, .name = "1"}, {.run = &second, .name = "2"}});
    expect_sound(table);
    std::vector<std::string> all;
    for (const Column& column : table.columns) {
      if (column.for_people()) all.push_back(column.heading());
    }
    return all;
  };
  EXPECT_THAT(headings(), testing::Not(testing::AnyOf(testing::Contains("backend"),
                                                      testing::Contains("device"))));
  second.result.device.name = "another processor";
  EXPECT_THAT(headings(), testing::Contains("device"));
  EXPECT_THAT(headings(), testing::Not(testing::Contains("backend")));
  second.result.effective.backend =
      first.result.effective.backend == engine::GemmBackend::CpuReference
          ? engine::GemmBackend::Expertscope
          : engine::GemmBackend::CpuReference;
  EXPECT_THAT(headings(), testing::IsSupersetOf({"backend", "device"}));
}

TEST(RunDocument, HasNothingToSayOfAnEmptyRunButWhatItWas) {
  const RecordedRun empty;
  const std::string text = text_of(run_document(empty, "a request"));
  EXPECT_THAT(text, HasSubstr("request     a request\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("nan")));
  EXPECT_THAT(text, testing::Not(HasSubstr("SNR")));
}

TEST(Headline, IsOfTheFirstProductThatTheStepHas) {
  engine::RunResult result;
  result.experts = {{.rows = 4}, {.rows = 4}, {.rows = 0}};
  result.experts[0].fprop = {.snr_db = 30.0};
  result.experts[1].fprop = {.snr_db = 20.0, .lost = 2};
  result.experts[2].fprop = {.snr_db = 1.0};
  ASSERT_TRUE(worst_expert(result));
  EXPECT_EQ(worst_expert(result)->expert, 1) << "an expert without rows does not count";
  EXPECT_EQ(worst_expert(result)->left_out, 2U);
  EXPECT_EQ(lost_outputs(result), 2U);
  result.backward = true;
  result.effective.products.passes = engine::StepPasses::Backward;
  result.experts[0].dgrad = {.snr_db = 12.0};
  EXPECT_EQ(worst_expert(result)->product, engine::Product::Dgrad);
  EXPECT_EQ(worst_expert(result)->expert, 0);
}

TEST(Headline, CountsAreGroupedAsInTables) {
  engine::RunResult result;
  result.experts = {{.rows = 4, .fprop = {.snr_db = 20.0, .lost = 1711}}};
  const std::vector<HeadlineFigure> figures =
      headline_of(result, {.n = 12'345, .median = 1e6, .p5 = 9e5, .p95 = 2e6}, {});
  ASSERT_EQ(figures.size(), 3U);
  EXPECT_EQ(figures[0].label, "step, median of 12 345");
  EXPECT_THAT(figures[0].method, testing::HasSubstr("n = 12 345, "));
  EXPECT_THAT(figures[1].label, testing::EndsWith(", 1 711 left out"));
  EXPECT_EQ(figures[2].value.text(), "1 711");
  engine::OperandStatistics quantized;
  quantized.elements = 4096;
  quantized.saturated = 1200;
  EXPECT_EQ(loss_text(quantized), "SNR 0.00 dB, 1 200 of 4 096 saturated, 0 underflowed, 0 lost");
  quantized.undefined = 128;
  EXPECT_THAT(loss_text(quantized),
              testing::EndsWith(", 0 lost, 128 NaN or infinite before quantization"));
}

TEST(ComparisonDocument, CountsTheElementsOfARecipeThatRan) {
  RecordedComparison recorded;
  engine::QuantizationReport refused;
  refused.refused = "BF16 quantizes nothing";
  engine::QuantizationReport ran;
  ran.statistics.elements = 4096;
  ran.statistics.undefined = 128;
  recorded.comparison.reports = {refused, ran};
  const std::string text = text_of(comparison_document(recorded));
  EXPECT_THAT(text, testing::HasSubstr("activations, 4 096 elements"));
  EXPECT_THAT(text, testing::HasSubstr("128 of these elements are NaN or infinite"));
  recorded.comparison.reports = {refused};
  EXPECT_THAT(text_of(comparison_document(recorded)),
              testing::Not(testing::HasSubstr("0 elements")));
}

TEST(Headline, LeavesOutWhatWasNotMeasured) {
  EXPECT_TRUE(headline_of({}, {}, {}).empty());
  engine::RunResult result;
  result.flop = 2e9;
  const std::vector<HeadlineFigure> figures =
      headline_of(result, {.n = 10, .median = 1e6, .p5 = 9e5, .p95 = 2e6}, {.text = "±1 %"});
  ASSERT_EQ(figures.size(), 2U);
  EXPECT_EQ(figures[0].value.text(), "1.00 ms");
  EXPECT_EQ(figures[0].label, "step, median of 10 · ±1 %");
  EXPECT_EQ(figures[1].value.text(), "2.00 TFLOP/s");
  // The unit is the roofline's and the tables', whatever its size.
  result.flop = 1.03e8;
  EXPECT_EQ(
      headline_of(result, {.n = 10, .median = 1e6, .p5 = 9e5, .p95 = 2e6}, {})[1].value.text(),
      "103 GFLOP/s");
  EXPECT_EQ(flop_rate(1.03e11).text(), "103.0 GFLOP/s");
}

}  // namespace
}  // namespace profiling

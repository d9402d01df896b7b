// Exported tables are read back by a small CSV reader and must match the session.
#include <sys/stat.h>

#include <cmath>
#include <string_view>

#include "tests/unit/export/export_fixture.h"

namespace export_tests {
namespace {

/// Rows of cells, with quotes undone.
std::vector<std::vector<std::string>> read_csv(const fs::path& path) {
  const std::string text = read_all(path);
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row;
  std::string cell;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
        cell += '"';
        ++i;
      } else if (c == '"') {
        quoted = false;
      } else {
        cell += c;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',' || c == '\n') {
      row.push_back(cell);
      cell.clear();
      if (c == '\n') {
        rows.push_back(row);
        row.clear();
      }
    } else if (c != '\r') {
      cell += c;
    }
  }
  return rows;
}

std::string at(const std::vector<std::vector<std::string>>& table, std::size_t row,
               const std::string& column) {
  for (std::size_t c = 0; c < table[0].size(); ++c) {
    if (table[0][c] == column) return table[row][c];
  }
  return "no column " + column;
}

TEST_F(Export, ExpertTimesHaveEveryMethodOfEveryRun) {
  auto session = two_runs();
  session.runs[0].result.measurements.experts = {
      {.method = engine::ExpertMethod::Stamps,
       .stage = engine::Stage::Quantize,
       .expert = 3,
       .samples = 16,
       .median_ns = 11120,
       .p5_ns = 11000,
       .p95_ns = 12000},
      {.method = engine::ExpertMethod::Isolated, .expert = 1, .samples = 4, .median_ns = 900}};
  session.runs[1].result.measurements.experts = {
      {.method = engine::ExpertMethod::Isolated, .expert = 2, .samples = 4, .median_ns = 800}};
  ASSERT_TRUE(export_csv(session, folder_.string()).ok());
  const auto times = read_csv(folder_ / "expert_times.csv");
  std::vector<std::string> methods;
  for (std::size_t row = 1; row < times.size(); ++row) {
    methods.push_back(at(times, row, "run") + " " + at(times, row, "method"));
    if (at(times, row, "method") != "stamps") continue;
    EXPECT_EQ(at(times, row, "stage"), "quantize");
    EXPECT_EQ(at(times, row, "expert"), "3");
    EXPECT_EQ(at(times, row, "n"), "16");
    EXPECT_EQ(at(times, row, "median_ns"), "11120");
    EXPECT_EQ(at(times, row, "p5_ns"), "11000");
    EXPECT_EQ(at(times, row, "p95_ns"), "12000");
    EXPECT_EQ(at(times, row, "sum_ns"), "") << "single samples are not kept";
  }
  EXPECT_THAT(methods, testing::IsSupersetOf({"1 trace", "1 stamps", "1 isolated", "2 isolated"}));
}

TEST_F(Export, LaunchesOfTilesHaveARowPerLaunchAndPerTile) {
  auto session = two_runs();
  session.runs[1].result.measurements.tiled_launches = {engine::tiled_launch(
      engine::Stage::Fprop, engine::written(engine::StepTensor::H), 2,
      {{.begin_ns = 500, .end_ns = 900, .multiprocessor = 1, .expert = 3, .tile = 0},
       {.begin_ns = 400, .end_ns = 600, .multiprocessor = 0, .expert = 1, .tile = 1}})};
  ASSERT_TRUE(export_csv(session, folder_.string()).ok());
  const auto launches = read_csv(folder_ / "tiled_launches.csv");
  ASSERT_EQ(launches.size(), 2U);
  EXPECT_EQ(at(launches, 1, "run"), "2");
  EXPECT_EQ(at(launches, 1, "tiles"), "2");
  EXPECT_EQ(at(launches, 1, "duration_ns"), "500");
  EXPECT_EQ(at(launches, 1, "tail_ns"), "300");
  EXPECT_EQ(at(launches, 1, "busy_share"), "0.6");
  const auto tiles = read_csv(folder_ / "launch_tiles.csv");
  ASSERT_EQ(tiles.size(), 3U);
  EXPECT_EQ(at(tiles, 2, "operation"), at(launches, 1, "operation"));
  EXPECT_EQ(at(tiles, 2, "expert"), "3");
  EXPECT_EQ(at(tiles, 2, "multiprocessor"), "1");
  EXPECT_EQ(at(tiles, 2, "begin_ns"), "100");
  EXPECT_EQ(at(tiles, 2, "end_ns"), "500");
}

TEST_F(Export, CsvTablesHaveOneRowPerRunRecordAndExpert) {
  const fs::path folder = folder_ / "made" / "for it";
  auto session = two_runs();
  session.runs[0].result.backward = true;
  engine::OperandStatistics& gradients =
      engine::tensor_row(session.runs[0].result, engine::StepTensor::DY).quantization.emplace();
  gradients.snr_db = 12.5;
  gradients.saturated = 3;
  engine::tensor_row(session.runs[0].result, engine::StepTensor::WUp)
      .quantization.emplace()
      .underflowed = 4;
  ASSERT_TRUE(profiling::export_csv(session, folder.string()).ok());
  const auto runs = read_csv(folder / "runs.csv");
  const auto records = read_csv(folder / "records.csv");
  const auto experts = read_csv(folder / "experts.csv");
  ASSERT_EQ(runs.size(), 3U);
  ASSERT_EQ(records.size(), 5U);
  ASSERT_EQ(experts.size(), 3U);
  for (const auto* table : {&runs, &records, &experts}) {
    for (const auto& row : *table) EXPECT_EQ(row.size(), table->front().size());
  }
  EXPECT_EQ(at(runs, 1, "shape.preset"), "mixtral \"small\"");
  EXPECT_EQ(at(runs, 1, "recipe.scaling"), "fp8-block");
  EXPECT_EQ(at(runs, 1, "recipe.pow2_scales"), "1");
  EXPECT_EQ(at(runs, 1, "iterations"), "2");
  EXPECT_EQ(std::stod(at(runs, 1, "iteration_median_ns")), 5000.0);
  EXPECT_EQ(at(runs, 1, "gradients_snr_db"), "12.5");
  EXPECT_EQ(at(runs, 1, "gradients_saturated"), "3");
  EXPECT_EQ(at(runs, 1, "weights_underflowed"), "4");
  EXPECT_EQ(at(runs, 2, "gradients_snr_db"), "") << "forward alone";
  EXPECT_EQ(at(runs, 2, "recipe.scaling"), "bf16");
  EXPECT_EQ(at(runs, 2, "iteration_median_ns"), "");
  EXPECT_EQ(at(records, 1, "name"), "offsets, all");
  EXPECT_EQ(at(records, 1, "start_ns"), "-1500");
  EXPECT_EQ(at(records, 1, "expert"), "");
  EXPECT_EQ(at(records, 2, "name"), "gemm \"fp8\"\n");
  EXPECT_EQ(at(records, 2, "expert"), "5");
  EXPECT_EQ(at(records, 3, "run"), "2");
  EXPECT_EQ(at(records, 3, "kind"), "memset");
  EXPECT_EQ(at(records, 3, "node_id"), "18446744073709551615");
  EXPECT_EQ(at(records, 2, "grid"), "132x4x1");
  EXPECT_EQ(at(records, 2, "block"), "384x1x1");
  EXPECT_EQ(at(records, 2, "registers_per_thread"), "168");
  EXPECT_EQ(at(records, 2, "dynamic_shared_bytes"), "200000");
  EXPECT_EQ(at(records, 2, "bytes"), "") << "of a kernel they are not known";
  EXPECT_EQ(at(records, 2, "host_call"), "offsets, all");
  EXPECT_EQ(at(records, 2, "host_call_ns"), "-7");
  EXPECT_EQ(at(records, 1, "grid"), "") << "not recorded";
  EXPECT_EQ(at(records, 1, "host_call"), "");
  EXPECT_EQ(at(records, 3, "grid"), "");
  EXPECT_EQ(at(records, 3, "bytes"), "4096");
  EXPECT_EQ(at(experts, 1, "fprop.snr_db"), "31.25");
  EXPECT_EQ(at(experts, 1, "saturated"), "7");
  EXPECT_EQ(at(experts, 2, "fprop.snr_db"), "nan");
  EXPECT_EQ(at(experts, 2, "x_snr_db"), "inf");
}

TEST_F(Export, AnExpertLayerHasItsTensorsAndErrorSources) {
  auto session = two_runs();
  session.runs[0].result.tensors = {
      {.tensor = engine::StepTensor::WUp, .rows = 4, .columns = 4, .quantization = {{}}}};
  engine::RunResult& result = session.runs[1].result;
  result.expert_layer = {.unquantized_snr_db = 50.5};
  result.tensors = {{.tensor = engine::StepTensor::A,
                     .rows = 96,
                     .columns = 64,
                     .bytes = 6144,
                     .saved_bytes = 512,
                     .unquantized_y = engine::UnquantizedY{.snr_db = 33.0}},
                    {.tensor = engine::StepTensor::WDown, .quantization = {{}}},
                    {.tensor = engine::StepTensor::Y, .rows = 96, .columns = 32, .bytes = 6144}};
  result.tensors[0].error.snr_db = 31.5;
  engine::OperandStatistics& a = result.tensors[0].quantization.emplace();
  a.before = {.first_bin = 500, .counts = {3, 4}};
  a.elements = 6144;
  a.snr_db = 20.5;
  a.saturated = 3;
  a.underflowed = 4;
  a.lost = 5;
  a.undefined = 6;
  a.experts = {{.rows = 64, .snr_db = 21.0, .lost = 5}, {.rows = 32, .snr_db = 20.0}};
  a.channels.emplace().columns = {
      .channels = 64,
      .median_amax = 2.0,
      .amax = {1.0F, 120.0F},
      .snr_db = {30.0F, 19.5F},
      .saturated_share = {0.0F, 0.25F},
      .underflowed_share = {0.0F, 0.0F},
      .lost_share = {0.0F, 0.0F},
      .largest = {{.index = 7, .expert = 1, .amax = 120.0, .place = 70}}};
  result.tensors[2].error.snr_db = 28.25;
  ASSERT_TRUE(profiling::export_csv(session, folder_.string()).ok());
  const auto tensors = read_csv(folder_ / "tensors.csv");
  ASSERT_EQ(tensors.size(), 5U);
  EXPECT_EQ(at(tensors, 1, "run"), "1");
  EXPECT_EQ(at(tensors, 1, "tensor"), "w-up");
  EXPECT_EQ(at(tensors, 1, "bytes"), "") << "a recording that does not have them";
  EXPECT_EQ(at(tensors, 2, "run"), "2");
  EXPECT_EQ(at(tensors, 2, "tensor"), "a");
  EXPECT_EQ(at(tensors, 2, "saved_bytes"), "512");
  EXPECT_EQ(at(tensors, 2, "error.snr_db"), "31.5");
  EXPECT_EQ(at(tensors, 4, "columns"), "32");
  const auto sources = read_csv(folder_ / "error_sources.csv");
  ASSERT_EQ(sources.size(), 2U);
  EXPECT_EQ(at(sources, 1, "snr_db"), "33");
  EXPECT_EQ(at(sources, 1, "run_snr_db"), "28.25");
  EXPECT_EQ(at(sources, 1, "unquantized_snr_db"), "50.5");
  EXPECT_EQ(at(tensors, 2, "quantization.snr_db"), "20.5") << "another error than the layer's";
  EXPECT_EQ(at(tensors, 4, "quantization.snr_db"), "") << "Y is no operand";
  const auto runs = read_csv(folder_ / "runs.csv");
  EXPECT_EQ(at(runs, 2, "activated_snr_db"), "20.5");
  EXPECT_EQ(at(runs, 2, "activated_lost"), "5");
  EXPECT_EQ(at(runs, 2, "down_weights_saturated"), "0");
  EXPECT_EQ(at(runs, 2, "inner_gradients_snr_db"), "") << "forward alone";
  EXPECT_EQ(at(runs, 1, "activated_snr_db"), "") << "a linear step";
  const auto operands = read_csv(folder_ / "operands.csv");
  const auto row_of = [](const auto& table, std::string_view run, std::string_view operand) {
    return static_cast<std::size_t>(
        std::ranges::find_if(table,
                             [&](const auto& row) { return row[0] == run && row[1] == operand; }) -
        table.begin());
  };
  ASSERT_LT(row_of(operands, "2", "A"), operands.size());
  EXPECT_EQ(at(operands, row_of(operands, "2", "A"), "snr_db"), "20.5");
  EXPECT_EQ(at(operands, row_of(operands, "2", "A"), "underflowed"), "4");
  EXPECT_EQ(at(operands, row_of(operands, "2", "A"), "undefined"), "6");
  EXPECT_LT(row_of(operands, "2", "Wdown"), operands.size());
  EXPECT_LT(row_of(operands, "1", "W"), operands.size());
  const auto experts = read_csv(folder_ / "operand_experts.csv");
  ASSERT_LT(row_of(experts, "2", "A") + 1, experts.size());
  EXPECT_EQ(at(experts, row_of(experts, "2", "A"), "lost"), "5");
  EXPECT_EQ(at(experts, row_of(experts, "2", "A") + 1, "snr_db"), "20");
  const auto channels = read_csv(folder_ / "channels.csv");
  ASSERT_EQ(channels.size(), 2U);
  EXPECT_EQ(at(channels, 1, "run"), "2");
  EXPECT_EQ(at(channels, 1, "operand"), "A");
  EXPECT_EQ(at(channels, 1, "axis"), "columns");
  EXPECT_EQ(at(channels, 1, "list"), "largest");
  EXPECT_EQ(at(channels, 1, "over_median"), "60");
  EXPECT_EQ(at(channels, 1, "index"), "7");
  EXPECT_EQ(at(channels, 1, "place"), "70");
  const auto profiles = read_csv(folder_ / "channel_profiles.csv");
  ASSERT_EQ(profiles.size(), 3U);
  EXPECT_EQ(at(profiles, 2, "first_channel"), "32");
  EXPECT_EQ(at(profiles, 2, "amax"), "120");
  EXPECT_EQ(at(profiles, 2, "snr_db"), "19.5");
  const auto bins = read_csv(folder_ / "histograms.csv");
  EXPECT_EQ(std::ranges::count_if(bins, [](const auto& row) { return row[1] == "A"; }), 2);
}

TEST_F(Export, AStageHasItsTimeAndWhatIsCountedOfIt) {
  Session session = two_runs();
  session.runs.resize(1);
  engine::RunRequest& request = session.runs[0].result.effective;
  request.step = engine::StepKind::ExpertLayer;
  request.shape = {.preset = {}, .num_experts = 2, .rows = 48, .n = 64, .k = 32};
  request.expert_layer.top_k = 4;
  session.runs[0].result.splits = {16, 32};
  profiling::Activity& activity = session.runs[0].activity;
  activity.records.push_back(
      {.start_ns = 4000, .end_ns = 4070, .name = 0, .iteration = 0, .stage = Stage::Permute});
  activity.records.push_back(
      {.start_ns = 5000, .end_ns = 5003, .name = 0, .iteration = 0, .stage = Stage::Offsets});
  ASSERT_TRUE(profiling::export_csv(session, folder_.string()).ok());
  const auto stages = read_csv(folder_ / "stage_times.csv");
  ASSERT_EQ(stages.size(), 4U);
  std::vector<std::string> names;
  for (std::size_t row = 1; row < stages.size(); ++row) names.push_back(at(stages, row, "stage"));
  EXPECT_THAT(names, testing::ElementsAre("offsets", "fprop", "permute"));
  EXPECT_EQ(at(stages, 1, "bytes"), "") << "not counted";
  EXPECT_EQ(std::stod(at(stages, 3, "median_ns")), 70.0);
  // Xt, X, and the expert and the row of every copy.
  EXPECT_EQ(std::stod(at(stages, 3, "bytes")), 12 * 32 * 2 + 48 * 32 * 2 + 48 * 8);
  EXPECT_EQ(std::stod(at(stages, 3, "flop")), 0.0);
}

TEST_F(Export, ARecordedRoutingHasItsSteps) {
  auto session = two_runs();
  engine::RecordedRouting& recorded = session.runs[1].result.recorded_routing.emplace();
  recorded.steps = {{.step = 3, .rows = 5, .splits = {5, 0}, .visits = 2, .median_ns = 250.0},
                    {.step = 4, .rows = 4, .splits = {1, 3}, .visits = 0, .y_snr_db = 28.5}};
  ASSERT_TRUE(profiling::export_csv(session, folder_.string()).ok());
  const auto steps = read_csv(folder_ / "recorded_steps.csv");
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(at(steps, 1, "run"), "2");
  EXPECT_EQ(at(steps, 1, "step"), "3");
  EXPECT_EQ(at(steps, 1, "median_ns"), "250");
  EXPECT_EQ(at(steps, 1, "rank"), "") << "no iteration shows its times";
  EXPECT_EQ(at(steps, 1, "y_snr_db"), "nan");
  EXPECT_EQ(at(steps, 2, "y_snr_db"), "28.5");
  const auto splits = read_csv(folder_ / "recorded_splits.csv");
  ASSERT_EQ(splits.size(), 5U);
  EXPECT_EQ(at(splits, 4, "step"), "4");
  EXPECT_EQ(at(splits, 4, "expert"), "1");
  EXPECT_EQ(at(splits, 4, "rows"), "3");
}

TEST_F(Export, TimesOfRecordedStepsAreOfTheVisitsThatCount) {
  auto session = two_runs();
  engine::RunResult& result = session.runs[1].result;
  session.runs[1].power = {};
  result.iterations = {{0, 900}, {900, 200}, {1100, 100}, {1200, 202}, {1402, 104}};
  auto& recorded = result.recorded_routing.emplace();
  recorded.steps = {{.step = 0, .splits = {5, 0}}, {.step = 1, .splits = {1, 3}}};
  engine::add_times(result.iterations, recorded.steps);
  ASSERT_TRUE(profiling::export_csv(session, folder_.string()).ok());
  const auto steps = read_csv(folder_ / "recorded_steps.csv");
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(at(steps, 1, "median_ns"), "102") << "without the first timed iteration";
  EXPECT_EQ(at(steps, 1, "visits"), "3");
  EXPECT_EQ(at(steps, 1, "counted_visits"), "2");
  EXPECT_EQ(at(steps, 1, "lowest_ns"), "100");
  EXPECT_EQ(at(steps, 1, "highest_ns"), "104");
  EXPECT_EQ(at(steps, 1, "rank"), "2");
  EXPECT_EQ(at(steps, 2, "rank"), "1");
}

TEST_F(Export, ComparisonsNameTheirOperand) {
  Session session;
  for (const char* operand : {"X", "W", "dY"}) {
    engine::RecipeComparison comparison;
    comparison.request.weights = operand == std::string_view("W");
    comparison.request.gradients = operand == std::string_view("dY");
    comparison.reports.emplace_back();
    comparison.reports.emplace_back().refused = "no, \"never\"";
    session.comparisons.push_back({.comparison = comparison});
  }
  ASSERT_TRUE(profiling::export_csv(session, folder_.string()).ok());
  const auto table = read_csv(folder_ / "comparisons.csv");
  ASSERT_EQ(table.size(), 7U);
  for (const auto& row : table) EXPECT_EQ(row.size(), table.front().size());
  EXPECT_EQ(at(table, 1, "operand"), "X");
  EXPECT_EQ(at(table, 3, "operand"), "W");
  EXPECT_EQ(at(table, 6, "operand"), "dY");
  EXPECT_EQ(at(table, 6, "refused"), "no, \"never\"");
  EXPECT_EQ(at(table, 6, "elements"), "");
}

TEST_F(Export, CsvTablesOfTheGraphDoctorWhereThereIsOne) {
  using namespace profiling;
  ASSERT_TRUE(export_csv(two_runs(), folder_.string()).ok());
  EXPECT_FALSE(fs::exists(folder_ / "findings.csv"));
  EXPECT_FALSE(fs::exists(folder_ / "snapshot_nodes.csv"));

  Session session = two_runs();
  session.visits.resize(1);
  DoctorReport& report = session.visits[0].report;
  report.snapshot.graphs.resize(1);
  GraphSnapshot& graph = report.snapshot.graphs[0];
  graph.name = "step";
  graph.nodes.resize(3);
  graph.nodes[0] = {.type = NodeType::Kernel,
                    .name = "f<a, b>",
                    .parameters = KernelNode{.function = "_Z1f", .grid = {2, 3, 1}}};
  graph.nodes[1] = {.type = NodeType::Memset,
                    .name = "memset",
                    .parameters = MemsetNode{.address = 0x7f00, .element_bytes = 4, .width = 8}};
  graph.nodes[2] = {.type = NodeType::Empty, .name = "empty", .parent = 1};
  graph.edges = {{.from = 0, .to = 1, .kind = EdgeKind::Programmatic}};
  report.findings.resize(1);
  report.findings[0] = {.rule = "shared-workspace",
                        .hazard = 1,
                        .confidence = Confidence::Proved,
                        .nodes = {{.graph = 0, .node = 0}, {.graph = 0, .node = 1}},
                        .evidence = {"a", "b"}};
  ASSERT_TRUE(export_csv(session, folder_.string()).ok());
  const auto findings = read_csv(folder_ / "findings.csv");
  const auto nodes = read_csv(folder_ / "snapshot_nodes.csv");
  ASSERT_EQ(findings.size(), 2U);
  ASSERT_EQ(nodes.size(), 4U);
  for (const auto* table : {&findings, &nodes}) {
    for (const auto& row : *table) EXPECT_EQ(row.size(), table->front().size());
  }
  EXPECT_EQ(at(findings, 1, "rule"), "shared-workspace");
  EXPECT_EQ(at(findings, 1, "confidence"), "proved");
  EXPECT_EQ(at(findings, 1, "nodes"), "0:0 0:1");
  EXPECT_EQ(at(findings, 1, "evidence"), "a\nb");
  EXPECT_EQ(at(nodes, 1, "owner"), "visit");
  EXPECT_EQ(at(nodes, 1, "name"), "f<a, b>");
  EXPECT_EQ(at(nodes, 1, "grid"), "2x3x1");
  EXPECT_EQ(at(nodes, 2, "waits_for"), "0 (programmatic)");
  EXPECT_EQ(at(nodes, 2, "target"), "0x7f00");
  EXPECT_EQ(at(nodes, 2, "bytes"), "32");
  EXPECT_EQ(at(nodes, 3, "parent"), "1");
}

TEST_F(Export, WorkIsNamedByItsOperation) {
  const auto w = engine::written(engine::StepTensor::WUp, engine::CopyForms::Columnwise);
  Session session = two_runs();
  RecordedRun& run = session.runs[0];
  run.result.effective.step = engine::StepKind::ExpertLayer;
  run.activity.records[1].stage = Stage::Quantize;
  run.activity.records[1].writes = w;
  run.activity.nodes = {
      {.id = 7, .name = "tile", .stage = Stage::Quantize, .writes = w, .dependencies = {}}};
  profiling::GraphSnapshot& graph = run.snapshot.graphs.emplace_back();
  graph.nodes = {
      {.name = "nvjet", .stage = Stage::Fprop, .writes = engine::written(engine::StepTensor::H)}};
  run.snapshot.step = engine::StepKind::ExpertLayer;
  ASSERT_TRUE(profiling::export_csv(session, folder_.string()).ok());
  const auto records = read_csv(folder_ / "records.csv");
  EXPECT_EQ(at(records, 1, "operation"), "");  // as in recordings from before
  EXPECT_EQ(at(records, 2, "operation"), "quantize Wup, columnwise");
  EXPECT_EQ(at(records, 2, "layer"), "1");
  EXPECT_EQ(at(read_csv(folder_ / "kernels.csv"), 1, "operation"), "quantize Wup, columnwise");
  EXPECT_EQ(at(read_csv(folder_ / "graph_nodes.csv"), 1, "operation"), "quantize Wup, columnwise");
  EXPECT_EQ(at(read_csv(folder_ / "snapshot_nodes.csv"), 1, "operation"), "fprop up");

  const fs::path trace = folder_ / "trace.json";
  ASSERT_TRUE(profiling::export_chrome_trace(session, trace.string()).ok());
  const nlohmann::json written = nlohmann::json::parse(read_all(trace));
  int found = 0;
  for (const nlohmann::json& event : written["traceEvents"]) {
    if (event["name"] != "quantize Wup, columnwise") continue;
    ++found;
    EXPECT_EQ(event["args"]["name"], "gemm \"fp8\"\n");
  }
  EXPECT_EQ(found, 2);  // once more by expert
}

TEST_F(Export, SweepsAreOneTableWithTheirFrontiers) {
  Session session;
  const auto add = [&session](std::int64_t id, int position, std::uint64_t seed, double snr_db,
                              std::int64_t ns) {
    RecordedRun& run = session.runs.emplace_back();
    run.group = {.kind = profiling::GroupKind::Sweep,
                 .id = id,
                 .position = position,
                 .label = "seed " + std::to_string(seed)};
    run.request.seed = run.result.effective.seed = seed;
    run.result.experts.emplace_back().fprop.snr_db = snr_db;
    for (int i = 0; i < 40; ++i)
      run.result.iterations.push_back({.start_ns = 0, .duration_ns = ns + i});
  };
  add(5, 1, 1, 30.0, 1000);
  add(5, 0, 1, 20.0, 2000);
  add(9, 0, 1, 20.0, 2000);
  add(9, 1, 2, 25.0, 3000);
  session.runs.emplace_back();  // in no group
  ASSERT_TRUE(profiling::export_csv(session, folder_.string()).ok());
  const auto sweeps = read_csv(folder_ / "sweeps.csv");
  ASSERT_EQ(sweeps.size(), 5U);
  const auto column = [&sweeps](const char* name) {
    std::vector<std::string> cells;
    for (std::size_t row = 1; row < sweeps.size(); ++row) cells.push_back(at(sweeps, row, name));
    return cells;
  };
  EXPECT_THAT(column("sweep"), testing::ElementsAre("1", "1", "2", "2"));
  EXPECT_THAT(column("run"), testing::ElementsAre("2", "1", "3", "4")) << "as they were measured";
  EXPECT_THAT(column("seed"), testing::ElementsAre("1", "1", "1", "2"));
  // The faster and more accurate run of the first sweep does not beat those of the second.
  EXPECT_THAT(column("frontier"), testing::ElementsAre("no", "yes", "yes", "yes"));
  const fs::path without = folder_ / "without";
  session.runs.resize(1);
  ASSERT_TRUE(profiling::export_csv(session, without.string()).ok());
  EXPECT_TRUE(fs::exists(without / "runs.csv"));
  EXPECT_FALSE(fs::exists(without / "sweeps.csv"));
}

TEST_F(Export, CsvFolderThatCannotBeMadeIsAnError) {
  std::ofstream(folder_ / "file") << "x";
  const engine::Status status =
      profiling::export_csv(two_runs(), (folder_ / "file" / "inside").string());
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("file"));
}

}  // namespace
}  // namespace export_tests

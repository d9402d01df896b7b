// Exported files are read back by a JSON parser and a small CSV reader and must match the
// session.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "profiling/export/chrome_trace.h"

namespace {

namespace fs = std::filesystem;
using engine::Stage;
using profiling::ActivityKind;
using profiling::ActivityRecord;
using profiling::RecordedRun;
using profiling::Session;
using testing::HasSubstr;

class Export : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::temp_directory_path() / ("export_test_" + std::to_string(getpid()) + "_" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::size_t files_in_folder() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder_)) ++count;
    return count;
  }

  fs::path folder_;
};

std::string read_all(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Session two_runs() {
  RecordedRun cpu;
  cpu.result.effective.shape.preset = "mixtral \"small\"";
  cpu.result.device.name = "a CPU";
  cpu.result.iteration_method = "steady clock around each step";
  cpu.result.iterations = {{.start_ns = 0, .duration_ns = 4000},
                           {.start_ns = 5000, .duration_ns = 6000}};
  cpu.result.experts = {
      {.rows = 3, .fprop = {.snr_db = 31.25, .max_abs_error = 0.5}, .saturated = 7},
      {.rows = 0,
       .fprop = {.snr_db = std::nan("")},
       .x_snr_db = std::numeric_limits<double>::infinity()}};
  cpu.activity.names = {"offsets, all", "gemm \"fp8\"\n", "broken \xFF utf-8"};
  cpu.activity.records = {{.start_ns = -1500, .end_ns = -1000, .name = 0, .stage = Stage::Offsets},
                          {.start_ns = 1234,
                           .end_ns = 3235,
                           .name = 1,
                           .iteration = 0,
                           .expert = 5,
                           .layer = 1,
                           .lane = 2,
                           .stage = Stage::Fprop,
                           .shape = 1,
                           .call = 1}};
  cpu.activity.shapes = {{.grid_x = 132,
                          .grid_y = 4,
                          .grid_z = 1,
                          .block_x = 384,
                          .block_y = 1,
                          .block_z = 1,
                          .registers_per_thread = 168,
                          .static_shared_bytes = 1024,
                          .dynamic_shared_bytes = 200'000}};
  cpu.activity.calls = {{.start_ns = -7, .end_ns = 3, .name = 0}};
  RecordedRun gpu;
  gpu.result.effective.recipe.scaling = engine::Scaling::None;
  gpu.activity.names = {"memset", "broken \xFF utf-8"};
  gpu.activity.shapes = {{.bytes = 4096}};
  gpu.activity.records = {{.start_ns = 0,
                           .end_ns = 9'007'199'254'740'993,
                           .node_id = 18'446'744'073'709'551'615ULL,
                           .name = 0,
                           .iteration = 3,
                           .kind = ActivityKind::Memset,
                           .lane = 2,
                           .stage = Stage::Memory,
                           .shape = 1},
                          {.start_ns = 10,
                           .end_ns = 20,
                           .name = 1,
                           .kind = ActivityKind::Kernel,
                           .lane = 2,
                           .stage = Stage::Other}};
  Session session;
  session.runs = {cpu, gpu};
  return session;
}

TEST_F(Export, ChromeTraceHasEveryRecordOnATrackOfItsLane) {
  const fs::path path = folder_ / "trace.json";
  ASSERT_TRUE(profiling::export_chrome_trace(two_runs(), path.string()).ok());
  const nlohmann::json trace = nlohmann::json::parse(read_all(path));
  std::map<std::pair<int, int>, std::string> tracks;
  std::map<int, std::string> processes;
  std::vector<nlohmann::json> slices;
  for (const nlohmann::json& event : trace["traceEvents"]) {
    const int process = event["pid"];
    if (event["ph"] == "X") slices.push_back(event);
    if (event["name"] == "process_name") processes[process] = event["args"]["name"];
    if (event["name"] == "thread_name") tracks[{process, event["tid"]}] = event["args"]["name"];
  }
  ASSERT_EQ(processes.size(), 3U);  // the runs and the experts of the first
  EXPECT_THAT(processes[1], HasSubstr("mixtral \"small\""));
  EXPECT_THAT(processes[1], HasSubstr("on a CPU"));
  EXPECT_THAT(processes[2], HasSubstr("bf16"));
  ASSERT_EQ(slices.size(), 7U);  // 2 iterations, 2 + 2 records, and 1 of them again by expert
  EXPECT_EQ((tracks[{1'000'001, 384}]), "expert 5");

  const auto find = [&](int process, const std::string& category) {
    for (const nlohmann::json& slice : slices) {
      if (slice["pid"] == process && slice["cat"] == category) return slice;
    }
    return nlohmann::json();
  };
  const nlohmann::json gemm = find(1, "fprop");
  EXPECT_EQ(gemm["name"], "gemm \"fp8\"\n");
  EXPECT_DOUBLE_EQ(gemm["ts"], 1.234 + 1.5);  // moved right by the earliest record
  EXPECT_DOUBLE_EQ(gemm["dur"], 2.001);
  EXPECT_EQ(gemm["args"]["stage"], "fprop");
  EXPECT_EQ(gemm["args"]["expert"], 5);
  EXPECT_EQ(gemm["args"]["layer"], 1);
  EXPECT_EQ(gemm["args"]["iteration"], 0);
  EXPECT_FALSE(gemm["args"].contains("node"));
  EXPECT_EQ((tracks[{1, gemm["tid"]}]), "thread 2");
  const nlohmann::json offsets = find(1, "offsets");
  EXPECT_DOUBLE_EQ(offsets["ts"], 0.0);
  EXPECT_FALSE(offsets["args"].contains("expert"));
  EXPECT_FALSE(offsets["args"].contains("iteration"));
  const nlohmann::json memset = find(2, "memory");
  EXPECT_EQ(memset["args"]["node"], "18446744073709551615");
  EXPECT_EQ((tracks[{2, memset["tid"]}]), "stream 2");
  EXPECT_NE(memset["tid"], gemm["tid"]);
  EXPECT_THAT(find(2, "other")["name"].get<std::string>(), testing::StartsWith("broken "));
  const nlohmann::json iteration = find(1, "iteration");
  EXPECT_DOUBLE_EQ(iteration["ts"], 1.5);
  EXPECT_DOUBLE_EQ(iteration["dur"], 4.0);
  EXPECT_THAT((tracks[{1, iteration["tid"]}]), HasSubstr("steady clock"));
  // Nanoseconds survive where a double of microseconds would round them.
  EXPECT_THAT(read_all(path), HasSubstr("\"dur\":9007199254740.993"));
  EXPECT_EQ(files_in_folder(), 1U);
}

TEST_F(Export, PowerAndClocksAreCountersOnTheRunsTimeAxis) {
  Session session = two_runs();
  session.runs[1].power.samples = {{.time_ns = -2000, .sm_clock_mhz = 1980, .power_w = 430.5},
                                   {.time_ns = 100'000'000, .power_w = 700.0}};
  const fs::path path = folder_ / "trace.json";
  ASSERT_TRUE(profiling::export_chrome_trace(session, path.string()).ok());
  std::vector<nlohmann::json> counters;
  const nlohmann::json trace = nlohmann::json::parse(read_all(path));
  for (const nlohmann::json& event : trace["traceEvents"]) {
    if (event["ph"] == "C") counters.push_back(event);
  }
  ASSERT_EQ(counters.size(), 3U);  // the second sample has no clock
  EXPECT_EQ(counters[0]["name"], "power");
  EXPECT_EQ(counters[0]["pid"], 2);
  EXPECT_DOUBLE_EQ(counters[0]["ts"], 0.0);  // now the earliest of all
  EXPECT_DOUBLE_EQ(counters[0]["args"]["W"], 430.5);
  EXPECT_DOUBLE_EQ(counters[1]["args"]["MHz"], 1980.0);
  EXPECT_DOUBLE_EQ(counters[2]["ts"], 100'002.0);
  ASSERT_TRUE(profiling::export_chrome_trace(session, path.string(),
                                             {.run = 1, .range = {.begin_ns = 0, .end_ns = 10}})
                  .ok());
  EXPECT_THAT(read_all(path), testing::Not(HasSubstr("\"ph\":\"C\"")));
  EXPECT_FALSE(profiling::export_chrome_trace(session, path.string(), {.run = 2}).ok());
}

TEST_F(Export, NonKernelEventsHaveTheirOwnTracks) {
  profiling::Session session = two_runs();
  profiling::Activity& activity = session.runs[1].activity;
  const auto name = static_cast<std::uint32_t>(activity.names.size());
  activity.names.emplace_back("late \"kernel\"");
  activity.host_events = {{.start_ns = -50'000,
                           .end_ns = -49'000,
                           .name = name,
                           .kind = profiling::HostEventKind::LazyLoading,
                           .lane = 2},
                          {.start_ns = 10,
                           .end_ns = 90,
                           .name = name,
                           .iteration = 0,
                           .kind = profiling::HostEventKind::StageRange,
                           .stage = engine::Stage::Fprop}};
  activity.memory_events = {{.time_ns = 40,
                             .address = 0xFFFF'FFFF'FFFF'FFFF,
                             .bytes = 512,
                             .pool = 7,
                             .pool_bytes = 4096,
                             .pool_used = 1024}};
  const fs::path path = folder_ / "trace.json";
  ASSERT_TRUE(profiling::export_chrome_trace(session, path.string()).ok());
  const nlohmann::json trace = nlohmann::json::parse(read_all(path));
  std::map<std::string, std::string> track_of;  // category -> name of its track
  std::map<std::pair<int, int>, std::string> tracks;
  nlohmann::json moment;
  nlohmann::json pool;
  for (const nlohmann::json& event : trace["traceEvents"]) {
    if (event["name"] == "thread_name")
      tracks[{event["pid"], event["tid"]}] = event["args"]["name"];
    if (event["ph"] == "i") moment = event;
    if (event["ph"] == "C") pool = event;
  }
  for (const nlohmann::json& event : trace["traceEvents"]) {
    if (event["ph"] == "X" && event["name"] == "late \"kernel\"") {
      track_of[event["cat"]] = tracks[{event["pid"], event["tid"]}];
    }
  }
  EXPECT_EQ(track_of["lazy loading"], "overhead of host thread 2");
  EXPECT_EQ(track_of["fprop"], "stages of host thread 0");
  EXPECT_EQ(moment["name"], "allocate");
  EXPECT_EQ(moment["args"]["address"], "0xffffffffffffffff");
  EXPECT_EQ(moment["args"]["bytes"], 512);
  EXPECT_DOUBLE_EQ(moment["ts"], 50.04);  // everything moved right by the earliest event
  EXPECT_EQ((tracks[{2, moment["tid"]}]), "memory");
  EXPECT_DOUBLE_EQ(pool["args"]["bytes"], 1024.0);
}

TEST_F(Export, ASessionWithoutRunsIsRefusedAsATrace) {
  const engine::Status status =
      profiling::export_chrome_trace({}, (folder_ / "trace.json").string());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, engine::ErrorCode::InvalidArgument);
  EXPECT_THAT(status.error().message, HasSubstr("CSV"));
  EXPECT_EQ(files_in_folder(), 0U);
}

TEST_F(Export, AFailureNamesThePathAndKeepsTheOldFile) {
  const engine::Status status =
      profiling::export_chrome_trace(two_runs(), (folder_ / "missing" / "trace.json").string());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, engine::ErrorCode::Io);
  EXPECT_THAT(status.error().message, HasSubstr("missing/trace.json"));
  // A folder in place of the file: the rename fails, no temporary file is left.
  fs::create_directory(folder_ / "taken.json");
  std::ofstream(folder_ / "taken.json" / "keep") << "x";
  EXPECT_FALSE(profiling::export_chrome_trace(two_runs(), (folder_ / "taken.json").string()).ok());
  EXPECT_EQ(files_in_folder(), 1U);
  EXPECT_TRUE(fs::exists(folder_ / "taken.json" / "keep"));
}

TEST_F(Export, WhatIsNoFileIsNotReplaced) {
  const fs::path fifo = folder_ / "trace.json";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const fs::path link = folder_ / "link.json";
  fs::create_symlink("/dev/null", link);
  for (const fs::path& path : {fifo, link}) {
    const engine::Status status = export_chrome_trace(two_runs(), path.string());
    ASSERT_FALSE(status.ok()) << path;
    EXPECT_THAT(status.error().message, HasSubstr(path.string()));
  }
  EXPECT_THAT(export_chrome_trace(two_runs(), fifo.string()).error().message, HasSubstr("a FIFO"));
  EXPECT_TRUE(fs::is_fifo(fifo));
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(files_in_folder(), 2U);
}

TEST_F(Export, AnExistingFileIsReplaced) {
  const fs::path path = folder_ / "trace.json";
  std::ofstream(path) << std::string(100'000, 'x');
  ASSERT_TRUE(profiling::export_chrome_trace(two_runs(), path.string()).ok());
  EXPECT_TRUE(nlohmann::json::accept(read_all(path)));
  EXPECT_EQ(files_in_folder(), 1U);
}

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

TEST_F(Export, CsvTablesHaveOneRowPerRunRecordAndExpert) {
  const fs::path folder = folder_ / "made" / "for it";
  auto session = two_runs();
  session.runs[0].result.backward = true;
  session.runs[0].result.gradients.snr_db = 12.5;
  session.runs[0].result.gradients.saturated = 3;
  session.runs[0].result.weights.underflowed = 4;
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
  engine::LayerResult& layer = session.runs[1].result.expert_layer.emplace();
  layer.tensors = {{.tensor = engine::LayerTensor::A, .rows = 96, .columns = 64, .bytes = 6144},
                   {.tensor = engine::LayerTensor::Y, .rows = 96, .columns = 32, .bytes = 6144}};
  layer.tensors[0].saved_bytes = 512;
  layer.tensors[0].error.snr_db = 31.5;
  session.runs[1].result.activated.before = {.first_bin = 500, .counts = {3, 4}};
  layer.tensors[1].error.snr_db = 28.25;
  layer.error_sources = {{engine::LayerTensor::A, 33.0}};
  layer.unquantized_snr_db = 50.5;
  ASSERT_TRUE(profiling::export_csv(session, folder_.string()).ok());
  const auto tensors = read_csv(folder_ / "layer_tensors.csv");
  ASSERT_EQ(tensors.size(), 3U);
  EXPECT_EQ(at(tensors, 1, "run"), "2");
  EXPECT_EQ(at(tensors, 1, "tensor"), "a");
  EXPECT_EQ(at(tensors, 1, "saved_bytes"), "512");
  EXPECT_EQ(at(tensors, 1, "error.snr_db"), "31.5");
  EXPECT_EQ(at(tensors, 2, "columns"), "32");
  const auto sources = read_csv(folder_ / "error_sources.csv");
  ASSERT_EQ(sources.size(), 2U);
  EXPECT_EQ(at(sources, 1, "snr_db"), "33");
  EXPECT_EQ(at(sources, 1, "run_snr_db"), "28.25");
  EXPECT_EQ(at(sources, 1, "unquantized_snr_db"), "50.5");
  const auto bins = read_csv(folder_ / "histograms.csv");
  EXPECT_EQ(std::ranges::count_if(bins, [](const auto& row) { return row[1] == "A"; }), 2);
}

TEST_F(Export, ARecordedRoutingHasItsSteps) {
  auto session = two_runs();
  engine::RecordedRouting& recording = session.runs[1].result.recording.emplace();
  recording.steps = {{.step = 3, .rows = 5, .splits = {5, 0}, .visits = 2, .median_ns = 250.0},
                     {.step = 4, .rows = 4, .splits = {1, 3}, .visits = 0, .y_snr_db = 28.5}};
  ASSERT_TRUE(profiling::export_csv(session, folder_.string()).ok());
  const auto steps = read_csv(folder_ / "recorded_steps.csv");
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(at(steps, 1, "run"), "2");
  EXPECT_EQ(at(steps, 1, "step"), "3");
  EXPECT_EQ(at(steps, 1, "median_ns"), "250");
  EXPECT_EQ(at(steps, 1, "y_snr_db"), "nan");
  EXPECT_EQ(at(steps, 2, "y_snr_db"), "28.5");
  const auto splits = read_csv(folder_ / "recorded_splits.csv");
  ASSERT_EQ(splits.size(), 5U);
  EXPECT_EQ(at(splits, 4, "step"), "4");
  EXPECT_EQ(at(splits, 4, "expert"), "1");
  EXPECT_EQ(at(splits, 4, "tokens"), "3");
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

TEST_F(Export, CsvFolderThatCannotBeMadeIsAnError) {
  std::ofstream(folder_ / "file") << "x";
  const engine::Status status =
      profiling::export_csv(two_runs(), (folder_ / "file" / "inside").string());
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("file"));
}

}  // namespace

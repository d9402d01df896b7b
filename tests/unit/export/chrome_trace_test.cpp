// Exported traces and files are read back by a JSON parser and must match the session.
#include <sys/stat.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "tests/unit/export/export_fixture.h"

namespace export_tests {
namespace {

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

}  // namespace
}  // namespace export_tests

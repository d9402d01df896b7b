// A session file returns what was written, field for field, and other tools can read the file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sqlite3.h>
#include <limits>

#include <filesystem>
#include <fstream>

#include "profiling/session/limits.h"
#include "tests/unit/session/sample_recording.h"

namespace profiling {
namespace {

using testing::HasSubstr;

TEST(SessionRoundTrip, KeepsEveryField) {
  const ScratchFolder folder;
  const std::string path = folder.file("a b%20ü?#.expertscope");  // a path that a URI must escape
  ASSERT_EQ(record(path, 3), "");
  const auto session = open_session(path);
  ASSERT_TRUE(session.ok()) << session.error().message;
  EXPECT_EQ(session.value().path, path);
  ASSERT_EQ(session.value().runs.size(), 3U);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(describe(session.value().runs[static_cast<std::size_t>(i)]), describe(sample_run(i)));
  }
  ASSERT_EQ(session.value().notes.size(), 1U);
  EXPECT_EQ(session.value().notes[0], (std::pair<std::string, std::string>{"title", "sample"}));
}

TEST(SessionRoundTrip, KeepsComparisonsAlongsideRuns) {
  const ScratchFolder folder;
  const std::string path = folder.file("s");
  {
    auto writer = SessionWriter::create(path);
    ASSERT_TRUE(writer.ok());
    for (int i = 0; i < 2; ++i) {
      const engine::Status kept = writer.value()->append(sample_comparison(i));
      ASSERT_TRUE(kept.ok()) << kept.error().message;
      ASSERT_TRUE(writer.value()->append(sample_run(i)).ok());
    }
    ASSERT_TRUE(writer.value()->append(RecordedComparison{}).ok());
    RecordedComparison broken = sample_comparison(0);
    broken.comparison.reports[0].sample.rows = 2;
    const engine::Status status = writer.value()->append(broken);
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.error().message,
                HasSubstr("sample.rows is 2; there are 2 elements and 2 codes"));
  }
  const auto session = open_session(path);
  ASSERT_TRUE(session.ok()) << session.error().message;
  EXPECT_EQ(session.value().runs.size(), 2U);
  ASSERT_EQ(session.value().comparisons.size(), 3U);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(describe(session.value().comparisons[static_cast<std::size_t>(i)]),
              describe(sample_comparison(i)));
  }
  EXPECT_EQ(describe(session.value().comparisons[2]), describe(RecordedComparison{}));
}

// A file of an older or newer program has a table or a column more or less.
TEST(SessionRoundTrip, AFileWithoutATableOrAColumnHasTheirDefaults) {
  const ScratchFolder folder;
  const std::string path = folder.file("s");
  ASSERT_EQ(record(path, 2), "");
  alter(
      path,
      "DROP TABLE iterations; UPDATE records SET iteration = -1; UPDATE host_events SET iteration "
      "= -1; UPDATE memory_events SET iteration = -1; ALTER TABLE runs DROP COLUMN device_blas; "
      "ALTER TABLE runs DROP COLUMN watch_p99_us; ALTER TABLE power_samples DROP COLUMN power_w; "
      "ALTER TABLE comparison_reports DROP COLUMN high_precision");
  const auto session = open_session(path);
  ASSERT_TRUE(session.ok()) << session.error().message;
  RecordedRun expected = sample_run(1);
  expected.result.iterations.clear();
  for (ActivityRecord& each : expected.activity.records) each.iteration = -1;
  for (HostEvent& event : expected.activity.host_events) event.iteration = -1;
  for (MemoryEvent& event : expected.activity.memory_events) event.iteration = -1;
  expected.result.device.blas.clear();
  expected.result.watch.p99_us = 0.0;
  for (PowerSample& sample : expected.power.samples) sample.power_w = -1.0;
  EXPECT_EQ(describe(session.value().runs.at(1)), describe(expected));
  RecordedComparison comparison = sample_comparison(0);
  for (engine::QuantizationReport& report : comparison.comparison.reports) {
    report.recipe.high_precision = engine::ElementType::Bf16;
  }
  EXPECT_EQ(describe(session.value().comparisons.at(0)), describe(comparison));
}

TEST(SessionRoundTrip, ForeignTablesAndColumnsAreIgnored) {
  const ScratchFolder folder;
  const std::string path = folder.file("s");
  ASSERT_EQ(record(path, 1), "");
  alter(path,
        "CREATE TABLE analysis(run_id, verdict); INSERT INTO analysis VALUES(1, 'fine'); "
        "CREATE INDEX by_stage ON records(stage, start_ns); CREATE INDEX f ON runs(abs(flop)); "
        "ALTER TABLE runs ADD COLUMN weather TEXT; ALTER TABLE splits ADD COLUMN share REAL; "
        "CREATE VIEW slow AS SELECT * FROM records WHERE end_ns - start_ns > 1000000; "
        "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END; "
        "ALTER TABLE experts ADD COLUMN twice INTEGER AS (tokens * 2); DROP TABLE stages");
  const auto session = open_session(path);
  ASSERT_TRUE(session.ok()) << session.error().message;
  EXPECT_EQ(describe(session.value().runs.at(0)), describe(sample_run(0)));
}

// Written by a worker that knows more enumerators, or by a hostile one.
TEST(SessionRoundTrip, RefusesAnEnumeratorWithoutAName) {
  const ScratchFolder folder;
  auto writer = SessionWriter::create(folder.file("s"));
  ASSERT_TRUE(writer.ok());
  RecordedRun broken = sample_run(0);
  broken.activity.host_events[0].kind = static_cast<HostEventKind>(77);
  const engine::Status status = writer.value()->append(broken);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message,
              HasSubstr("table host_events: kind is 77, which has no name"));
  EXPECT_TRUE(writer.value()->append(sample_run(1)).ok());
}

TEST(SessionRoundTrip, KeepsAnEmptyRunAndAnEmptySession) {
  const ScratchFolder folder;
  ASSERT_EQ(record(folder.file("empty"), 0), "");
  const auto empty = open_session(folder.file("empty"));
  ASSERT_TRUE(empty.ok()) << empty.error().message;
  EXPECT_TRUE(empty.value().runs.empty());
  {
    auto writer = SessionWriter::create(folder.file("bare"));
    ASSERT_TRUE(writer.ok());
    const engine::Status status = writer.value()->append(RecordedRun{});
    ASSERT_TRUE(status.ok()) << status.error().message;
  }
  const auto bare = open_session(folder.file("bare"));
  ASSERT_TRUE(bare.ok()) << bare.error().message;
  EXPECT_EQ(describe(bare.value().runs.at(0)), describe(RecordedRun{}));
}

TEST(SessionRoundTrip, LeavesOneFileThatOpensReadOnly) {
  const ScratchFolder folder;
  const std::string path = folder.file("s");
  ASSERT_EQ(record(path, 1), "");
  const auto entries = std::distance(
      std::filesystem::directory_iterator(std::filesystem::path(path).parent_path()), {});
  EXPECT_EQ(entries, 1) << "-wal or -shm was left behind";
  std::ifstream file(path, std::ios::binary);
  std::string header(20, '\0');
  file.read(header.data(), 20);
  EXPECT_EQ(header[18], 1) << "still in WAL mode, which needs a writable folder to open";
}

TEST(SessionRoundTrip, RefusesToOverwrite) {
  const ScratchFolder folder;
  const std::string path = folder.file("precious");
  std::ofstream(path) << "keep me";
  EXPECT_THAT(record(path, 1), testing::AllOf(HasSubstr(path), HasSubstr("not overwritten")));
  std::string content;
  std::getline(std::ifstream(path), content);
  EXPECT_EQ(content, "keep me");
}

TEST(SessionRoundTrip, RefusesAMissingFolder) {
  EXPECT_THAT(record("/nowhere/at/all", 1), HasSubstr("/nowhere/at/all: cannot be created"));
}

TEST(SessionRoundTrip, RefusesARunThatTheReaderWouldRefuseAndContinues) {
  const ScratchFolder folder;
  const std::string path = folder.file("s");
  {
    auto writer = SessionWriter::create(path);
    ASSERT_TRUE(writer.ok());
    RecordedRun broken = sample_run(0);
    broken.activity.records[1].name = 3;
    const engine::Status status = writer.value()->append(broken);
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.error().message, HasSubstr("record name is 3; it must be between 0 and 2"));
    EXPECT_TRUE(writer.value()->append(sample_run(1)).ok());
  }
  const auto session = open_session(path);
  ASSERT_TRUE(session.ok()) << session.error().message;
  ASSERT_EQ(session.value().runs.size(), 1U);
  EXPECT_EQ(describe(session.value().runs[0]), describe(sample_run(1)));
}

TEST(SessionRoundTrip, ReplacesANote) {
  const ScratchFolder folder;
  {
    auto writer = SessionWriter::create(folder.file("s"));
    ASSERT_TRUE(writer.ok());
    EXPECT_TRUE(writer.value()->set_note("comment", "first").ok());
    EXPECT_TRUE(writer.value()->set_note("comment", "second").ok());
    EXPECT_FALSE(writer.value()->set_note("comment", "\xff").ok());
  }
  const auto session = open_session(folder.file("s"));
  ASSERT_TRUE(session.ok());
  ASSERT_EQ(session.value().notes.size(), 1U);
  EXPECT_EQ(session.value().notes[0].second, "second");
}

// The README of profiling/session promises this query.
TEST(SessionRoundTrip, AnswersAQueryByName) {
  const ScratchFolder folder;
  ASSERT_EQ(record(folder.file("s"), 2), "");
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open_v2(folder.file("s").c_str(), &database, SQLITE_OPEN_READONLY, nullptr),
            SQLITE_OK);
  sqlite3_stmt* query = nullptr;
  const char* sql =
      "SELECT s.name, n.name, count(*), sum(r.end_ns - r.start_ns) FROM records r JOIN names n "
      "USING (run_id, name_id) JOIN stages s USING (stage) WHERE run_id = 2 AND iteration >= 0 "
      "GROUP BY 1, 2 ORDER BY 4 DESC";
  ASSERT_EQ(sqlite3_prepare_v2(database, sql, -1, &query, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  ASSERT_EQ(sqlite3_step(query), SQLITE_ROW);
  EXPECT_STREQ(reinterpret_cast<const char*>(sqlite3_column_text(query, 0)), "fprop");
  EXPECT_STREQ(reinterpret_cast<const char*>(sqlite3_column_text(query, 1)), "kernel<int, 3>");
  EXPECT_EQ(sqlite3_column_int(query, 3), 8);
  sqlite3_finalize(query);
  sqlite3_close(database);
}

// From a hostile worker. Under tests/run --sanitize, arithmetic that overflows fails the test.
TEST(SessionRoundTrip, ExtremeNumbersAreRefusedWithoutArithmeticOnThem) {
  constexpr int kLowest = std::numeric_limits<int>::min();
  constexpr int kHighest = std::numeric_limits<int>::max();
  RecordedRun checked = sample_run(0);
  ASSERT_FALSE(checked.result.replay_checks.empty());
  checked.result.replay_checks[0].wrong_experts = {kHighest, kHighest};
  EXPECT_FALSE(check(checked).ok());
  RecordedRun histogram = sample_run(0);
  histogram.result.tensors.at(0).quantization->before.first_bin = kLowest;
  EXPECT_FALSE(check(histogram).ok());
  RecordedRun layers = sample_run(0);
  layers.result.effective.layers = kLowest;
  EXPECT_FALSE(check(layers).ok());
  layers.result.effective.layers = kHighest;
  layers.result.effective.step = engine::StepKind::ExpertLayer;
  EXPECT_FALSE(check(layers).ok());
  static_assert(saturated_sum(std::numeric_limits<std::int64_t>::max(), 1) ==
                std::numeric_limits<std::int64_t>::max());
  static_assert(saturated_sum(std::numeric_limits<std::int64_t>::min(), -1) ==
                std::numeric_limits<std::int64_t>::min());
  static_assert(saturated_sum(-3, 5) == 2);
}

/// Records of an expert layer count its projections.
TEST(SessionLimits, AnExpertLayerHasTwoLinearLayers) {
  RecordedRun run = sample_run(0);
  ASSERT_EQ(run.result.effective.layers, 2);
  run.activity.records.front().layer = 3;
  EXPECT_FALSE(check(run).ok());
  run.result.effective.step = engine::StepKind::ExpertLayer;
  EXPECT_TRUE(check(run).ok()) << check(run).error().message;
  run.activity.records.front().layer = 4;
  EXPECT_FALSE(check(run).ok());
}

}  // namespace
}  // namespace profiling

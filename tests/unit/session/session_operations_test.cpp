// What records and nodes write, with the stage their operation, is in a recording; one from before
// has work of no known operation.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <string>

#include "profiling/session/session_file.h"
#include "tests/unit/session/sample_recording.h"

namespace profiling {
namespace {

using engine::CopyForms;
using engine::StepTensor;
using engine::written;
using engine::WrittenValue;

std::string text_of(const std::string& path, const char* query) {
  sqlite3* database = nullptr;
  sqlite3_stmt* row = nullptr;
  EXPECT_EQ(sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
  EXPECT_EQ(sqlite3_prepare_v2(database, query, -1, &row, nullptr), SQLITE_OK) << query;
  std::string text = "no row";
  if (sqlite3_step(row) == SQLITE_ROW) {
    const unsigned char* const cell = sqlite3_column_text(row, 0);
    text = cell == nullptr ? "NULL" : reinterpret_cast<const char*>(cell);
  }
  sqlite3_finalize(row);
  sqlite3_close(database);
  return text;
}

TEST(SessionOperations, ComeBackAndAreNamedForThoseWhoQuery) {
  const WrittenValue w = written(StepTensor::WUp, CopyForms::Columnwise);
  RecordedRun run = sample_run(0);
  ASSERT_FALSE(run.activity.records.empty());
  ASSERT_FALSE(run.activity.nodes.empty());
  run.activity.records.front().writes = w;
  run.activity.nodes.front().writes = written(StepTensor::H);
  const ScratchFolder folder;
  const std::string path = folder.file("operations");
  auto writer = SessionWriter::create(path);
  ASSERT_TRUE(writer.ok()) << writer.error().message;
  ASSERT_TRUE(writer.value()->append(run).ok());
  ASSERT_TRUE(writer.value()->close().ok());

  const engine::Result<Session> session = open_session(path);
  ASSERT_TRUE(session.ok()) << session.error().message;
  const Activity& activity = session.value().runs.at(0).activity;
  EXPECT_EQ(activity.records.front().writes, w);
  EXPECT_EQ(activity.nodes.front().writes, written(StepTensor::H));
  EXPECT_EQ(text_of(path, "SELECT name FROM records JOIN written_values USING (writes) LIMIT 1"),
            "w-up columnwise");
  EXPECT_EQ(text_of(path, "SELECT writes FROM graph_nodes WHERE node = 0"), "h");
}

TEST(SessionOperations, RecordingsFromBeforeHaveNone) {
  for (const char* name :
       {"tests/unit/session/former/h200_linear", "tests/unit/session/former/h200_layer",
        "assets/sessions/gallery", "assets/sessions/workspace_bug"}) {
    const engine::Result<Session> session =
        open_session(std::string(EXPERTSCOPE_SOURCE "/") + name + ".session");
    ASSERT_TRUE(session.ok()) << session.error().message;
    const auto unknown = [](const auto& entry) { return entry.writes == WrittenValue::Unknown; };
    for (const RecordedRun& run : session.value().runs) {
      EXPECT_TRUE(std::ranges::all_of(run.activity.records, unknown)) << name;
      EXPECT_TRUE(std::ranges::all_of(run.activity.nodes, unknown)) << name;
    }
    for (const RecordedVisit& visit : session.value().visits) {
      for (const GraphSnapshot& graph : visit.report.snapshot.graphs) {
        EXPECT_TRUE(std::ranges::all_of(graph.nodes, unknown)) << name;
      }
    }
  }
}

}  // namespace
}  // namespace profiling

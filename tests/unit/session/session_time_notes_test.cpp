// Notes pinned to time ranges, and names of runs: written with their run, changed later.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "profiling/session/sqlite_handle.h"
#include "tests/unit/session/sample_recording.h"

namespace profiling {
namespace {

TEST(TimeNotes, ChangeWhileRecordingAndAfter) {
  const ScratchFolder folder;
  const std::string path = folder.file("notes.session");
  const std::vector<TimeNote> late = {
      {.begin_ns = 10, .end_ns = 20, .text = "spike", .created_ms = 1}};
  {
    auto writer = SessionWriter::create(path);
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    ASSERT_TRUE(writer.value()->append(sample_run(1)).ok());
    ASSERT_TRUE(writer.value()->append(sample_run(2)).ok());
    EXPECT_TRUE(writer.value()->set_time_notes(1, late).ok());
    EXPECT_FALSE(writer.value()->set_time_notes(2, late).ok());
  }
  auto session = open_session(path);
  ASSERT_TRUE(session.ok()) << session.error().message;
  EXPECT_EQ(session.value().runs[0].notes, sample_run(1).notes);
  EXPECT_EQ(session.value().runs[1].notes, late);

  EXPECT_TRUE(store_time_notes(path, 0, {}).ok());
  EXPECT_FALSE(store_time_notes(path, 7, {}).ok());
  EXPECT_FALSE(store_time_notes(path, 0, {TimeNote{5, 4, "", 1}}).ok());
  session = open_session(path);
  ASSERT_TRUE(session.ok()) << session.error().message;
  EXPECT_TRUE(session.value().runs[0].notes.empty());
  EXPECT_EQ(session.value().runs[1].notes, late);
}

TEST(TimeNotes, AForeignFileIsRefused) {
  EXPECT_FALSE(store_time_notes("/nowhere/at.all", 0, {}).ok());
  const ScratchFolder folder;
  const std::string fifo = folder.file("was_a.session");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const engine::Status refused = store_time_notes(fifo, 0, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("a FIFO"), std::string::npos) << refused.error().message;
}

TEST(TimeNotes, ATriggerOfTheFileDoesNotRun) {
  const ScratchFolder folder;
  const std::string path = folder.file("trapped.session");
  {
    auto writer = SessionWriter::create(path);
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    ASSERT_TRUE(writer.value()->append(sample_run(1)).ok());
  }
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &raw), SQLITE_OK);
  const Database database(raw);
  const auto run = [&](const char* sql) { return execute_sql(database.get(), path, sql).ok(); };
  ASSERT_TRUE(run("CREATE TRIGGER trap AFTER INSERT ON time_notes BEGIN DELETE FROM runs; END"));
  EXPECT_TRUE(store_time_notes(path, 0, {{.begin_ns = 1, .end_ns = 2, .text = "mine"}}).ok());
  auto count = Statement::prepare(database.get(), path, "SELECT 1 FROM runs");
  ASSERT_TRUE(count.ok());
  EXPECT_TRUE(count.value().next().value());
}

TEST(RunName, ChangesWhileRecordingAndAfter) {
  const ScratchFolder folder;
  const std::string path = folder.file("named.session");

  {
    auto writer = SessionWriter::create(path);
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    ASSERT_TRUE(writer.value()->append(sample_run(1)).ok());
    ASSERT_TRUE(writer.value()->append(sample_run(2)).ok());
    EXPECT_TRUE(writer.value()->set_run_name(1, "größer").ok());
    EXPECT_FALSE(writer.value()->set_run_name(2, "none").ok());
    EXPECT_FALSE(writer.value()->set_run_name(0, std::string(201, 'x')).ok());
  }
  EXPECT_TRUE(store_run_name(path, 0, "first").ok());
  EXPECT_FALSE(store_run_name(path, 7, "no such run").ok());
  EXPECT_FALSE(store_run_name(path, 0, std::string("a\0b", 3)).ok());
  const auto session = open_session(path);
  ASSERT_TRUE(session.ok()) << session.error().message;
  EXPECT_EQ(session.value().runs[0].name, "first");
  EXPECT_EQ(session.value().runs[1].name, "größer");
  EXPECT_EQ(session.value().runs[0].notes, sample_run(1).notes);
}

TEST(RunName, AFileFromBeforeRunsHadNamesGetsThem) {
  const ScratchFolder folder;
  const std::string path = folder.file("older.session");

  {
    auto writer = SessionWriter::create(path);
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    ASSERT_TRUE(writer.value()->append(sample_run(1)).ok());
  }
  {
    sqlite3* raw = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &raw), SQLITE_OK);
    const Database database(raw);
    ASSERT_TRUE(execute_sql(raw, path, "ALTER TABLE runs DROP COLUMN name").ok());
  }
  auto session = open_session(path);
  ASSERT_TRUE(session.ok()) << session.error().message;
  EXPECT_EQ(session.value().runs[0].name, "");
  const engine::Status stored = store_run_name(path, 0, "named later");
  ASSERT_TRUE(stored.ok()) << stored.error().message;
  session = open_session(path);
  ASSERT_TRUE(session.ok()) << session.error().message;
  EXPECT_EQ(session.value().runs[0].name, "named later");
}

}  // namespace
}  // namespace profiling

// Sample recordings on disk, and ways for an attacker to change them.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <stdlib.h>

#include "tests/unit/session/sample_recording.h"
#include "tests/unit/session/sample_visit.h"

namespace profiling {

ScratchFolder::ScratchFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "session-test-XXXXXX").string();
  path_ = ::mkdtemp(pattern.data());
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string record(const std::string& path, int runs) {
  auto writer = SessionWriter::create(path);
  if (!writer.ok()) return writer.error().message;
  for (int i = 0; i < runs; ++i) {
    const engine::Status status = writer.value()->append(sample_run(i));
    if (!status.ok()) return status.error().message;
  }
  if (runs > 0) {
    engine::Status kept = writer.value()->append(sample_comparison(0));
    if (kept.ok()) kept = writer.value()->append(sample_series(0));
    if (kept.ok()) kept = writer.value()->append(sample_visit(0));
    if (!kept.ok()) return kept.error().message;
  }
  const engine::Status status = writer.value()->set_note("title", "sample");
  return status.ok() ? "" : status.error().message;
}

void alter(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
  char* message = nullptr;
  sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &message);
  EXPECT_EQ(message, nullptr) << message << " in " << sql;
  sqlite3_free(message);
  sqlite3_close(database);
}

}  // namespace profiling

// Spoiled cells in the doctor's tables of a session: the file is refused with a sentence, or what
// was read is as sound as what was written.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "profiling/session/doctor_rules.h"
#include "profiling/session/doctor_schema.h"
#include "tests/unit/session/sample_recording.h"
#include "tests/unit/session/sample_visit.h"

namespace profiling {
namespace {

int rounds(int usual) {
  const char* const factor = std::getenv("EXPERTSCOPE_FUZZ_ROUNDS");
  return factor == nullptr ? usual : usual * std::max(1, std::atoi(factor));
}

/// Names of a table's columns, without the quotes of its declaration.
std::vector<std::string> columns_of(const TableDefinition& table) {
  sqlite3* database = nullptr;
  sqlite3_open(":memory:", &database);
  sqlite3_exec(database, table.sql, nullptr, nullptr, nullptr);
  std::vector<std::string> columns;
  const std::string query = fmt::format("PRAGMA table_info({})", table.name);
  const auto keep = [](void* to, int, char** cells, char**) {
    static_cast<std::vector<std::string>*>(to)->emplace_back(cells[1]);
    return 0;
  };
  sqlite3_exec(database, query.c_str(), keep, &columns, nullptr);
  sqlite3_close(database);
  return columns;
}

/// Runs SQL and does not mind if a constraint of the table forbids it.
void try_sql(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  sqlite3_exec(database, "PRAGMA synchronous=OFF; PRAGMA journal_mode=MEMORY", nullptr, nullptr,
               nullptr);
  sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr);
  sqlite3_close(database);
}

constexpr const char* kValues[] = {"-1",
                                   "0",
                                   "1",
                                   "2",
                                   "7",
                                   "-2147483648",
                                   "4294967296",
                                   "9223372036854775807",
                                   "-9223372036854775808",
                                   "0.5",
                                   "-1.0",
                                   "9e999",
                                   "''",
                                   "'made'",
                                   "'cures'",
                                   "'moved'",
                                   "'run'",
                                   "CAST(x'c328' AS TEXT)",
                                   "x''",
                                   "x'28b52ffde00000000000000010010000'"};

/// One change of one table.
std::string change(std::mt19937_64& random, const std::vector<std::vector<std::string>>& columns) {
  const std::size_t table = random() % std::size(kDoctorTables);
  const std::string name = kDoctorTables[table].name;
  const auto column = [&] {
    return fmt::format("\"{}\"", columns[table][random() % columns[table].size()]);
  };
  const std::string one_row = fmt::format("(SELECT 1 + abs({}) % count(*) FROM {})",
                                          static_cast<std::int64_t>(random() >> 1), name);
  const std::string key = column();
  const std::string where =
      fmt::format("WHERE {0} = (SELECT {0} FROM {1} LIMIT 1 OFFSET {2} - 1)", key, name, one_row);
  const char* const value = kValues[random() % std::size(kValues)];
  switch (random() % 6) {
    case 0:
      return fmt::format("DELETE FROM {} {}", name, where);
    case 1:
      return fmt::format("UPDATE OR REPLACE {} SET {} = {} + 1 {}", name, key, key, where);
    case 2:
      return fmt::format("UPDATE OR IGNORE {} SET {} = {} {}", name, key, column(), where);
    case 3:
      return fmt::format("UPDATE {} SET {} = {}", name, column(), value);
    default:
      return fmt::format("UPDATE OR IGNORE {} SET {} = {} {}", name, column(), value, where);
  }
}

TEST(SessionFuzz, SpoiledCells) {
  const ScratchFolder folder;
  const SampleCodec codec;
  const std::string whole = folder.file("whole");
  ASSERT_EQ(record(whole, 2), "");
  std::vector<std::vector<std::string>> columns;
  for (const TableDefinition& table : kDoctorTables) columns.push_back(columns_of(table));
  std::mt19937_64 random(20261121);
  int refused = 0;
  int opened = 0;
  for (int i = 0; i < rounds(800); ++i) {
    const std::string path = folder.file("spoiled");
    std::filesystem::copy_file(whole, path, std::filesystem::copy_options::overwrite_existing);
    std::string sql;
    for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      sql += change(random, columns) + ";";
    }
    try_sql(path, sql);
    const auto session = open_session(path, codec);
    if (!session.ok()) {
      EXPECT_THAT(session.error().message, testing::StartsWith(path)) << sql;
      ++refused;
      continue;
    }
    ++opened;
    for (const RecordedVisit& visit : session.value().visits) {
      EXPECT_TRUE(check_visit(visit).ok()) << sql;
    }
  }
  EXPECT_GT(refused, 100) << "the changes hit nothing that is checked";
  EXPECT_GT(opened, 100) << "the changes leave nothing that is read to its end";
}

}  // namespace
}  // namespace profiling

// Damaged, truncated and malicious files: none may crash or hang the reader, and each refusal
// starts with the path of the file.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/model/text.h"
#include "tests/unit/session/sample_recording.h"

namespace profiling {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// A good file that each test copies and damages.
class SessionHostile : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(record(path(), 2), ""); }
  std::string path() const { return folder_.file("s"); }

  std::string refusal(const SessionLimits& limits = {}) const {
    const auto session = open_session(path(), limits);
    return session.ok() ? "opened" : session.error().message;
  }
  std::string bytes() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void replace(const std::string& content) const {
    std::ofstream(path(), std::ios::binary | std::ios::trunc) << content;
  }
  /// Runs SQL on the table, re-declared so that it accepts everything: the reader must not rely on
  /// declarations.
  void plant(const std::string& table, const std::string& sql) const {
    alter(path(),
          fmt::format("PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = replace(replace("
                      "replace(sql, ' NOT NULL', ''), ') STRICT, WITHOUT', ') WITHOUT'), ') "
                      "STRICT', ')') WHERE name = '{}'",
                      table));
    alter(path(), sql);
  }
  ScratchFolder folder_;
};

TEST_F(SessionHostile, TheGoodFileOpens) { EXPECT_EQ(refusal(), "opened"); }

TEST_F(SessionHostile, CutShortAnywhere) {
  const std::string whole = bytes();
  for (std::size_t i = 0; i < 100; ++i) {
    const std::size_t size = i < 20 ? i * 10 : whole.size() * (i - 20) / 80;
    replace(whole.substr(0, size));
    EXPECT_THAT(refusal(), StartsWith(path())) << "cut to " << size;
  }
  replace(whole.substr(0, whole.size() / 2));
  EXPECT_THAT(refusal(), AllOf(HasSubstr("is cut short"), HasSubstr(std::to_string(whole.size()))));
}

TEST_F(SessionHostile, FlippedBitsDoNoHarm) {
  const std::string whole = bytes();
  std::mt19937_64 random(20240607);
  int refused = 0;
  for (int i = 0; i < 600; ++i) {
    std::string spoiled = whole;
    // Few flips leave most structure intact, many reach deeper code paths at once.
    for (int flips = 1 + i % 4 * 5; flips > 0; --flips) {
      spoiled[random() % spoiled.size()] ^= static_cast<char>(1U << (random() % 8));
    }
    replace(spoiled);
    const std::string answer = refusal();
    if (answer == "opened") continue;
    EXPECT_THAT(answer, StartsWith(path()));
    ++refused;
  }
  EXPECT_GT(refused, 100) << "the flips hit nothing that is checked";
}

// Damage to pages that the window does not read (lookup tables for other tools) may go unnoticed.
TEST_F(SessionHostile, NoiseInsteadOfPages) {
  const std::string whole = bytes();
  const std::size_t pages = whole.size() / 4096;
  std::mt19937_64 random(7);
  std::size_t refused = 0;
  for (std::size_t page = 1; page < pages; ++page) {
    std::string spoiled = whole;
    for (std::size_t i = 0; i < 4096; ++i) spoiled[page * 4096 + i] = static_cast<char>(random());
    replace(spoiled);
    const std::string answer = refusal();
    if (answer == "opened") continue;
    EXPECT_THAT(answer, StartsWith(path())) << "page " << page;
    ++refused;
  }
  EXPECT_GE(refused, pages - 5);
}

TEST_F(SessionHostile, PagesInTheWrongPlace) {
  const std::string whole = bytes();
  const std::size_t pages = whole.size() / 4096;
  std::size_t refused = 0;
  for (std::size_t page = 1; page < pages; ++page) {
    std::string spoiled = whole;
    spoiled.replace(page * 4096, 4096, whole, (page % (pages - 1) + 1) * 4096, 4096);
    replace(spoiled);
    const std::string answer = refusal();
    if (answer == "opened") continue;
    EXPECT_THAT(answer, StartsWith(path())) << "page " << page;
    ++refused;
  }
  EXPECT_GT(refused, pages / 2);
}

TEST_F(SessionHostile, NoDatabaseAtAll) {
  replace(std::string(5000, 'x'));
  EXPECT_THAT(refusal(), HasSubstr("is not an SQLite database"));
  replace("");
  EXPECT_THAT(refusal(), HasSubstr("has 0 bytes"));
  std::filesystem::remove(path());
  EXPECT_THAT(refusal(), HasSubstr("no such file"));
  std::filesystem::create_directory(path());
  EXPECT_THAT(refusal(), HasSubstr("is not a regular file"));
}

/// (table, column) of every text column of the file, as SQLite reports them.
std::vector<std::pair<std::string, std::string>> text_columns(const std::string& path) {
  std::vector<std::pair<std::string, std::string>> columns;
  sqlite3* database = nullptr;
  EXPECT_EQ(sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
  sqlite3_exec(
      database,
      "SELECT s.name, c.name FROM sqlite_schema s, pragma_table_info(s.name) c "
      "WHERE s.type = 'table' AND c.type = 'TEXT'",
      [](void* found, int, char** cells, char**) {
        static_cast<decltype(columns)*>(found)->emplace_back(cells[0], cells[1]);
        return 0;
      },
      &columns, nullptr);
  sqlite3_close(database);
  return columns;
}

// Free text is cut and cleaned; an oversized keyword or document is refused with a short message.
TEST_F(SessionHostile, HugeTextInEveryColumn) {
  const std::string whole = bytes();
  const auto columns = text_columns(path());
  ASSERT_GT(columns.size(), 40U);
  std::size_t opened = 0;
  for (const auto& [table, column] : columns) {
    replace(whole);
    const std::string cell = fmt::format("\"{}\".\"{}\"", table, column);
    alter(path(), fmt::format("UPDATE OR IGNORE \"{}\" SET \"{}\" = char(27, 7, 8238, 155) || "
                              "replace(hex(zeroblob(500000)), '00', 'xy')",
                              table, column));
    const auto session = open_session(path());
    if (session.ok()) {
      ++opened;
      for (const RecordedRun& run : session.value().runs) {
        EXPECT_LT(describe(run).size(), std::size_t{4} << 20) << cell;
      }
      for (const RecordedVisit& visit : session.value().visits) {
        EXPECT_LE(visit.report.conclusion.size(), engine::kMaxTextBytes) << cell;
        for (const Finding& finding : visit.report.findings) {
          EXPECT_TRUE(engine::is_shown_text(finding.title)) << cell;
        }
      }
    } else {
      EXPECT_THAT(session.error().message, StartsWith(path())) << cell;
      EXPECT_LT(session.error().message.size(), 2000U) << cell;
      EXPECT_EQ(session.error().message.find('\x1b'), std::string::npos) << cell;
    }
  }
  EXPECT_GT(opened, columns.size() / 3) << "most columns hold free text";
}

TEST_F(SessionHostile, NeverWaits) {
  std::filesystem::remove(path());
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  EXPECT_THAT(refusal(), HasSubstr("is not a regular file"));
}

TEST_F(SessionHostile, ForeignDatabase) {
  std::filesystem::remove(path());
  alter(path(), "CREATE TABLE runs(x); INSERT INTO runs VALUES(1)");
  EXPECT_THAT(refusal(), HasSubstr("of another program (application_id 0"));
}

TEST_F(SessionHostile, OtherFormats) {
  alter(path(), "PRAGMA user_version=10");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("has format 10; this program reads format 9"),
                               HasSubstr("newer Expertscope")));
  alter(path(), "PRAGMA user_version=8");
  EXPECT_THAT(refusal(),
              testing::HasSubstr(
                  "has format 8; this program reads format 9: an older Expertscope wrote it"));
}

TEST_F(SessionHostile, TooLarge) {
  EXPECT_THAT(refusal({.max_file_bytes = 4096}), HasSubstr("the limit is 4096"));
  EXPECT_THAT(refusal({.max_runs = 1}), HasSubstr("more runs than the limit of 1"));
  EXPECT_THAT(refusal({.max_records = 5}),
              HasSubstr("records_size is 3; it must be between 0 and 2"));
  EXPECT_THAT(refusal({.max_memory_bytes = 5000}), HasSubstr("memory than the limit of 5000"));
}

TEST_F(SessionHostile, InterruptedChange) {
  std::ofstream(path() + "-journal") << "x";
  EXPECT_THAT(refusal(), HasSubstr("s-journal, so a change was interrupted"));
}

TEST_F(SessionHostile, ForgedLog) {
  std::ofstream(path() + "-wal") << std::string(100000, 'w');
  // A log without valid checksums is ignored by SQLite, so the good file behind it may open.
  EXPECT_THAT(refusal(), testing::AnyOf(StartsWith(path()), std::string("opened")));
}

struct Attack {
  const char* name;
  const char* table;  // nullptr = plain SQL is enough
  const char* sql;
  const char* refusal;
};

class SessionAttack : public SessionHostile, public testing::WithParamInterface<Attack> {};

TEST_P(SessionAttack, IsRefused) {
  if (GetParam().table == nullptr) {
    alter(path(), GetParam().sql);
  } else {
    plant(GetParam().table, GetParam().sql);
  }
  EXPECT_THAT(refusal(), AllOf(StartsWith(path()), HasSubstr(GetParam().refusal)));
}

constexpr Attack kAttacks[] = {
    {"ViewForTable", nullptr, "DROP TABLE names; CREATE VIEW names AS SELECT 1 AS run_id",
     "'names' is a view where a table belongs"},
    {"ViewInOtherLetters", nullptr, "DROP TABLE names; CREATE VIEW NAMES AS SELECT 1 AS run_id",
     "'names' is a view where a table belongs"},
    {"VirtualTable", nullptr, "DROP TABLE names; CREATE VIRTUAL TABLE names USING rtree(a, b, c)",
     "'names' is a virtual table where a table belongs"},
    {"MissingTable", nullptr, "DROP TABLE runs", "has no table 'runs'"},
    {"OtherKey", nullptr, "DROP TABLE splits; CREATE TABLE splits(run_id, expert, tokens)",
     "table splits is not kept in the order of run_id"},
    {"RenamedKey", nullptr, "ALTER TABLE names RENAME COLUMN name_id TO label",
     "table names has no column name_id"},
    {"ComputedColumn", nullptr,
     "ALTER TABLE splits DROP COLUMN tokens; ALTER TABLE splits ADD COLUMN tokens INTEGER AS "
     "(expert * 2)",
     "table splits computes its column tokens"},
    {"ReplaysBelowZero", nullptr, "UPDATE runs SET watch_replays = -1",
     "watch_replays is -1; it must be between 0 and 1000000"},
    {"DeadlineBelowZero", nullptr, "UPDATE runs SET watch_deadline_seconds = -1",
     "watch_deadline_seconds is -1; it must be finite and at least 0"},
    {"StallOfNoExperiment", nullptr,
     "UPDATE experiment_stalls SET experiment = 1000 WHERE (visit_id, experiment) IN (SELECT "
     "visit_id, experiment FROM experiment_stalls LIMIT 1)",
     "experiment is 1000"},
    {"ComparisonOfNoScaling", nullptr, "UPDATE comparison_reports SET scaling = 'fp3'",
     "scaling is 'fp3', which is none of the 6 known"},
    {"ComparisonWithoutItsCells", nullptr, "UPDATE comparison_reports SET sample_rows = 7",
     "sample.rows is 7; there are 2 elements and 2 codes, which is not"},
    {"ComparisonOfHugeSample", nullptr, "UPDATE comparison_reports SET sample_columns = 33",
     "sample_columns is 33; it must be between 0 and 32"},
    {"ComparisonOfBadCodes", nullptr, "UPDATE comparison_reports SET sample_codes = x'00'",
     "blob sample_codes is not a zstd frame"},
    {"ComparisonCodeOutside", nullptr, "UPDATE comparison_codes SET code = 16 WHERE code = 15",
     "code is 16; it must be between 0 and 15"},
    {"ComparisonCodesTooMany", nullptr, "UPDATE comparison_reports SET code_counts_size = 257",
     "code_counts_size is 257; it must be between 0 and 256"},
    {"ComparisonReportOutside", nullptr, "UPDATE comparison_times SET report = report + 9",
     "report is 9"},
    {"ComparisonHistory", nullptr, "UPDATE comparison_recipes SET delayed_history_length = 0",
     "delayed_history_length is 0; it must be between 1 and 4096"},
    {"NullText", "runs", "UPDATE runs SET device_name = NULL",
     "device_name is NULL where a text belongs"},
    {"NullFlop", "runs", "UPDATE runs SET flop = NULL", "flop is nan; it must be finite"},
    {"NullInteger", "splits", "UPDATE splits SET tokens = NULL", "tokens is NULL"},
    {"NullBlob", "tensor_operands", "UPDATE tensor_operands SET scale_map_mean = NULL",
     "scale_map_mean is NULL where a blob belongs"},
    {"TextForInteger", "records", "UPDATE records SET lane = 'x'",
     "lane is a text where an integer belongs"},
    {"BlobForText", "names", "UPDATE names SET name = x'00ff'", "name is a blob"},
    {"RealForInteger", "iterations", "UPDATE iterations SET start_ns = 0.5", "start_ns is a real"},
    {"TwoForBool", nullptr, "UPDATE runs SET backward = 2",
     "backward is 2; it must be between 0 and 1"},
    {"InvalidUtf8", nullptr, "UPDATE names SET name = CAST(x'c3' AS TEXT)", "not valid UTF-8"},
    {"NulInText", nullptr, "UPDATE notes SET value = 'a' || char(0) || 'b'", "without NUL"},
    {"HugeText", nullptr, "UPDATE notes SET value = CAST(zeroblob(5000000) AS TEXT)",
     "value has 5000000 bytes; the limit is 4194304"},
    {"HugeCell", nullptr, "UPDATE notes SET value = CAST(zeroblob(40000000) AS TEXT)", "too big"},
    {"HugeRecordCount", nullptr, "UPDATE runs SET records_size = 9000000000000000000",
     "records_size is 9000000000000000000; it must be between 0 and"},
    {"NegativeRecordCount", nullptr, "UPDATE runs SET records_size = -1", "records_size is -1"},
    {"MissingRecords", nullptr, "DELETE FROM records WHERE run_id = 2",
     "table records has 0 rows of run_id 2 and a records_size of 3"},
    {"SurplusRecords", nullptr, "UPDATE runs SET records_size = 2",
     "more rows than the records_size of 2"},
    {"RunGap", nullptr, "UPDATE runs SET run_id = 9 WHERE run_id = 2",
     "run_id is 9 where 2 comes next"},
    {"UnknownRun", nullptr, "UPDATE splits SET run_id = 3 WHERE run_id = 2",
     "run_id is 3; it must be between 1 and 2"},
    {"PositionGap", nullptr, "UPDATE experts SET expert = 7 WHERE expert = 2",
     "expert is 7 where 2 comes next"},
    {"TooManyExperts", nullptr,
     "WITH RECURSIVE c(x) AS (SELECT 3 UNION ALL SELECT x + 1 FROM c WHERE x < 2000) INSERT INTO "
     "splits SELECT 1, x, 1 FROM c",
     "expert is 1024; it must be between 0 and 1023"},
    {"SplitsAgainstShape", nullptr, "INSERT INTO splits VALUES(2, 3, 1)",
     "run 2: splits has 4 entries"},
    {"RecordedRows", nullptr, "UPDATE recorded_steps SET tokens = 7",
     "recorded step 7 has 7 rows, its splits sum to"},
    {"RecordedSplits", nullptr, "DELETE FROM recorded_splits WHERE run_id = 2 AND expert = 2",
     "recorded step 7 has 2 splits, the run has 3"},
    {"RecordedTime", nullptr, "UPDATE recorded_steps SET median_ns = -1", "a time of -1 ns"},
    {"SplitTooLarge", nullptr, "UPDATE splits SET tokens = 16777217",
     "tokens is 16777217; it must be between 0 and 16777216"},
    {"NameOutOfRange", nullptr, "UPDATE records SET name_id = 3",
     "record name is 3; it must be between 0 and 2"},
    {"ExpertOutOfRange", nullptr, "UPDATE records SET expert = 3", "record expert is 3"},
    {"IterationOutOfRange", nullptr, "UPDATE records SET iteration = 2",
     "iteration is 2; it must be between -1 and 1"},
    {"LayerOutOfRange", nullptr, "UPDATE records SET layer = 2", "record layer is 2"},
    {"ShapeOutOfRange", nullptr, "UPDATE records SET shape = 3",
     "record shape is 3; it must be between 0 and 2"},
    {"CallOutOfRange", nullptr, "UPDATE records SET call = 2", "record call is 2"},
    {"CallEndsBeforeItsStart", nullptr, "UPDATE host_calls SET end_ns = start_ns - 1", "end_ns is"},
    {"CallOfNoName", nullptr, "UPDATE host_calls SET name_id = 3", "call name is 3"},
    {"GridOfAKernelTooLarge", nullptr, "UPDATE launch_shapes SET grid_x = 1 << 33",
     "grid_x is 8589934592"},
    {"StageOutOfRange", nullptr, "UPDATE records SET stage = 64", "stage is 64"},
    {"KindOutOfRange", nullptr, "UPDATE records SET kind = 5", "kind is 5"},
    {"LaneOutOfRange", nullptr, "UPDATE records SET lane = 65536", "lane is 65536"},
    {"EventEndsBeforeItsStart", nullptr, "UPDATE host_events SET end_ns = start_ns - 1",
     "end_ns is"},
    {"EventsOutOfOrder", nullptr, "UPDATE host_events SET start_ns = -end_ns, end_ns = 100",
     "host event start_ns (ascending)"},
    {"EventOfNoName", nullptr, "UPDATE host_events SET name_id = 3", "host event name is 3"},
    {"EventOfNoKind", nullptr, "UPDATE host_events SET kind = 'magic'", "kind is 'magic'"},
    {"EventOfNoIteration", nullptr, "UPDATE memory_events SET iteration = 2", "iteration is 2"},
    {"EventLayerOutOfRange", nullptr, "UPDATE memory_events SET layer = 2", "event layer is 2"},
    {"MemoryOfNoSpace", nullptr, "UPDATE memory_events SET space = 'outer'", "space is 'outer'"},
    {"MemoryOfNoOperation", nullptr, "UPDATE memory_events SET operation = 'lend'",
     "operation is 'lend'"},
    {"MemoryOutOfOrder", nullptr, "UPDATE memory_events SET time_ns = -time_ns",
     "memory event time_ns (ascending)"},
    {"EndBeforeStart", nullptr, "UPDATE records SET end_ns = start_ns - 1", "end_ns is"},
    {"TimeTooFar", nullptr, "UPDATE records SET end_ns = 9223372036854775807", "record end_ns is"},
    {"RecordsOutOfOrder", nullptr, "UPDATE records SET start_ns = -end_ns, end_ns = 100",
     "record start_ns (ascending)"},
    {"NegativeDuration", nullptr, "UPDATE iterations SET duration_ns = -1", "duration_ns is -1"},
    {"NegativeFlop", nullptr, "UPDATE runs SET flop = -1.0", "flop is -1"},
    {"InfiniteFlop", nullptr, "UPDATE runs SET flop = 9e999", "flop is inf"},
    {"NegativeError", nullptr, "UPDATE experts SET fprop_max_abs_error = -1.0",
     "neither can be negative"},
    {"WrongExpertTwice", nullptr, "INSERT INTO replay_wrong_experts VALUES(1, 1, 2, 2)",
     "replay check expert is 2"},
    {"WrongExpertOfNoCheck", nullptr, "UPDATE replay_wrong_experts SET position = 2",
     "position is 2; it must be between 0 and 1"},
    {"UnknownTensor", nullptr, "UPDATE tensors SET tensor = 'Z' WHERE tensor = 'w-up'",
     "tensor is 'Z'"},
    {"TensorTwice", nullptr, "UPDATE tensors SET tensor = 'x' WHERE tensor = 'w-up'",
     "the tensor x has two rows"},
    {"TensorOfNoSuchStep", nullptr, "UPDATE tensors SET tensor = 'h' WHERE tensor = 'w-up'",
     "it has the tensor h, but its step has none"},
    {"TensorOfAnotherSize", nullptr, "UPDATE tensors SET columns = 7 WHERE tensor = 'y'",
     "the tensor y is 300 x 7; in this step it is 300 x 512"},
    {"TensorOfNegativeError", nullptr, "UPDATE tensors SET error_reference_rms = -1.0",
     "the error of x is 0.5 and its reference -1"},
    {"ExpertsOfAnOperandSurplus", nullptr,
     "INSERT INTO tensor_operand_experts SELECT 1, 0, position, 1, 0.0, 0.0, 0, 0, 0, 0 FROM "
     "replay_checks UNION SELECT 1, 0, position + 2, 1, 0.0, 0.0, 0, 0, 0, 0 FROM replay_checks",
     "x has rows of 4 experts"},
    {"OperandOfNoTensor", nullptr, "UPDATE tensor_operands SET tensor_id = 9 WHERE tensor_id = 3",
     "tensor_id is 9; it must be between 0 and 3"},
    {"HistogramPastTheLastBin", nullptr, "UPDATE tensor_histograms SET first_bin = 1020",
     "first_bin is 1020, followed by 5 bins"},
    {"HistogramTooLong", nullptr, "UPDATE tensor_histograms SET counts_size = 1025",
     "counts_size is 1025; it must be between 0 and 1024"},
    {"BinOutsideHistogram", nullptr,
     "UPDATE tensor_histogram_bins SET position = 1023 WHERE count > 1000", "position is 1023"},
    {"NegativeCount", nullptr, "UPDATE tensor_histogram_bins SET count = -5", "count is -5"},
    {"MapTooWide", nullptr, "UPDATE tensor_operands SET scale_map_columns = 513",
     "scale_map_columns is 513"},
    {"MapOfOtherSize", nullptr, "UPDATE tensor_operands SET scale_map_columns = 512",
     "there are 6 means and 6 maxima, which is not rows times 512 columns"},
    {"BlobNoZstd", nullptr, "UPDATE tensor_operands SET scale_map_mean = x'0102030405060708'",
     "blob scale_map_mean is not a zstd frame"},
    {"BlobEmpty", nullptr, "UPDATE tensor_operands SET scale_map_maximum = x''",
     "there are 6 means and 0 maxima"},
    {"BlobCut", nullptr,
     "UPDATE tensor_operands SET scale_map_mean = substr(scale_map_mean, 1, length(scale_map_mean) "
     "- 1) "
     "WHERE length(scale_map_mean) > 1",
     "blob scale_map_mean does not"},
    // Magic, single segment with an 8-byte content size of 2^60.
    {"BlobBomb", nullptr,
     "UPDATE tensor_operands SET scale_map_mean = x'28b52ffde00000000000000010010000'",
     "blob scale_map_mean declares 1152921504606846976 bytes of content; it takes at most 262144"},
    {"MapRowsDescend", nullptr,
     "UPDATE tensor_scale_map_experts SET first_row = 90 WHERE position = 2",
     "expert_first_row is 90; it must be between 100 and 300"},
    {"MapRowsSurplus", nullptr, "INSERT INTO tensor_scale_map_experts VALUES(1, 0, 4, 300)",
     "has the rows of 4 experts"},
    {"NodeTwice", nullptr, "UPDATE graph_nodes SET node_id = 5", "occurs twice"},
    {"EdgeToLater", nullptr, "UPDATE graph_edges SET depends_on = 6",
     "depends on 6, which does not come before it"},
    {"EdgeOfNoNode", nullptr, "UPDATE graph_edges SET node = 5 WHERE node = 2", "node is 5"},
    {"RequestNoJson", nullptr, "UPDATE runs SET request_json = '{'", "request_json: not JSON"},
    {"EffectiveBeyondLimits", nullptr,
     "UPDATE runs SET effective_json = '{\"seed\": \"1\", \"shape\": {\"num_experts\": 2000}}'",
     "shape.num_experts is 2000"},
    {"SnapshotOfNobody", nullptr, "UPDATE snapshots SET owner = 'guest' WHERE snapshot_id = 1",
     "owner is 'guest'"},
    {"SnapshotOfNoRun", nullptr, "UPDATE snapshots SET owner_id = 3 WHERE owner = 'run'",
     "owner_id is 3, but there are 2 runs"},
    {"TwoSnapshotsOfOneRun", nullptr, "UPDATE snapshots SET owner_id = 1 WHERE owner = 'run'",
     "run 1 has two snapshots"},
    {"SnapshotGap", nullptr, "UPDATE snapshots SET snapshot_id = 9 WHERE snapshot_id = 2",
     "snapshot_id is 3 where 2 comes next"},
    {"GraphGap", nullptr, "DELETE FROM snapshot_graphs WHERE graph = 0", "graph is 1 where 0"},
    {"VariantOfLaterGraph", nullptr, "UPDATE snapshot_graphs SET variant_of = 5 WHERE graph = 1",
     "graphs[1].variant_of is 5"},
    {"LaunchOfNoGraph", nullptr, "UPDATE snapshot_launches SET graph = 900",
     "launches has one of graph 900"},
    {"LaunchBeyondLimits", nullptr, "UPDATE snapshot_launches SET graph = 1001", "graph is 1001"},
    {"PoolWrapsAround", nullptr, "UPDATE snapshot_pools SET address = -1, bytes = 2",
     "pools has one at"},
    {"ExperimentLaunchesNoGraph", nullptr, "UPDATE experiments_launches SET graph = 900",
     "launched graph"},
    {"FreshMemoryOfNoGraph", nullptr, "UPDATE proof_experiments_fresh SET graph = 900",
     "graph with fresh memory"},
    {"NodeOfNoGraph", nullptr, "UPDATE snapshot_nodes SET graph = 7 WHERE graph = 1",
     "table snapshot_nodes, row"},
    {"NodeOfNoType", nullptr, "UPDATE snapshot_nodes SET type = 'none'", "type is 'none'"},
    {"NodeInItself", nullptr, "UPDATE snapshot_nodes SET parent = node WHERE node = 2",
     "nodes[2].parent is 2"},
    {"NodeStage", nullptr, "UPDATE snapshot_nodes SET stage = 'bake'", "stage is 'bake'"},
    {"KernelOfNoNode", nullptr, "UPDATE snapshot_kernel SET node = node + 100", "node is 100"},
    {"KernelIsAlsoMemset", nullptr,
     "INSERT INTO snapshot_memset(snapshot_id, graph, node, address, value, element_bytes, "
     "width, height, pitch) SELECT snapshot_id, graph, node, 0, 0, 1, 0, 1, 0 FROM "
     "snapshot_kernel",
     "parameters has two alternatives"},
    {"HugeParameters", nullptr,
     "UPDATE snapshot_kernel SET parameters = x'28b52ffde00000000000000010010000'",
     "blob parameters declares 1152921504606846976 bytes"},
    {"ParametersNoZstd", nullptr, "UPDATE snapshot_kernel SET parameters = x'0102030405060708'",
     "blob parameters is not a zstd frame"},
    {"SlotsNoZstd", nullptr, "UPDATE snapshot_kernel SET slots = x'00'",
     "blob slots is not a zstd frame"},
    {"TensorMapBeyondTheArguments", nullptr, "UPDATE snapshot_tensor_maps SET \"offset\" = 1048576",
     "its tensor maps"},
    {"GridTooLarge", nullptr, "UPDATE snapshot_kernel SET grid_x = 1 << 33",
     "grid_x is 8589934592; it must be between 0 and 4294967295"},
    {"EdgeBackwards", nullptr, "UPDATE snapshot_edges SET from_node = to_node, to_node = from_node",
     "has an edge from node"},
    {"EdgeKindUnknown", nullptr, "UPDATE snapshot_edges SET kind = 'loose'", "kind is 'loose'"},
    {"EdgeIntoAChild", nullptr,
     "UPDATE snapshot_nodes SET parent = 0 WHERE node = 5; UPDATE snapshot_nodes SET parent = -1 "
     "WHERE node < 5; UPDATE snapshot_edges SET from_node = 4, to_node = 5 WHERE position = 0",
     "has an edge from node 4 to node 5"},
    {"AllocationTwice", nullptr, "UPDATE snapshot_allocations SET allocation_id = 7",
     "ledger is not in ascending order"},
    {"AllocationPastTheEnd", nullptr, "UPDATE snapshot_allocations SET address = -1, bytes = 2",
     "is out of range"},
    {"AllocationRole", nullptr, "UPDATE snapshot_allocations SET role = 'boss'",
     "role is 'boss', which is none of the 13 known"},
    {"FindingNodeOutside", nullptr, "UPDATE finding_nodes SET node = 900", "finding node is 900"},
    {"AccessOutside", nullptr, "UPDATE finding_accesses SET graph = -1",
     "graph is -1; it must be between 0 and 1000"},
    {"Confidence", nullptr, "UPDATE findings SET confidence = 'sure'", "confidence is 'sure'"},
    {"PurposeUnknown", nullptr,
     "UPDATE proof_experiments SET purpose = 'fun' WHERE purpose = 'shows'", "purpose is 'fun'"},
    {"ExperimentGap", nullptr, "DELETE FROM experiments WHERE experiment = 0",
     "table experiments, row"},
    {"ExperimentOfNoFinding", nullptr, "UPDATE experiments SET of_finding = 50",
     "experiment finding is 50"},
    {"ChangeOutside", nullptr,
     "UPDATE proof_experiments_moved SET graph = 40; UPDATE experiments_moved SET graph = 40",
     "node is 40"},
    {"OrderedToNothing", nullptr,
     "UPDATE proof_experiments_ordered SET second_node = 5000; UPDATE experiments_ordered SET "
     "second_node = 5000",
     "ordered node is 5000"},
    {"VerdictUnknown", nullptr, "UPDATE experiments SET verdict = 'fine'", "verdict is 'fine'"},
    {"WrongPartOutside", nullptr, "UPDATE experiment_wrong_parts SET part = 50",
     "wrong part (ascending) is 50"},
    {"StallOutside", nullptr, "UPDATE experiment_stalls SET last_finished = 500",
     "stall last_finished is 500"},
    {"TwoStalls", nullptr,
     "CREATE TABLE more AS SELECT * FROM experiment_stalls; UPDATE more SET stall = 1; INSERT INTO "
     "experiment_stalls SELECT * FROM more",
     "stall is 1; it must be between 0 and 0"},
    {"StallNodesOfNoStall", nullptr, "DELETE FROM experiment_stalls",
     "stall is 0; it must be between 0 and -1"},
    {"VisitRequest", nullptr, "UPDATE visits SET request_json = '{'", "request_json"},
};

INSTANTIATE_TEST_SUITE_P(All, SessionAttack, testing::ValuesIn(kAttacks),
                         [](const auto& attack) { return std::string(attack.param.name); });

}  // namespace
}  // namespace profiling

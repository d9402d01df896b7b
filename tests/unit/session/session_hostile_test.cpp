// Damaged, truncated and malicious files: none may crash or hang the reader, and each refusal is a
// sentence that starts with the file.
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

/// A good file, copied and spoiled by each test.
class SessionHostile : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(record(path(), 2), ""); }
  std::string path() const { return folder_.file("s"); }

  std::string refusal(const SessionLimits& limits = {}) const {
    const SampleCodec codec;
    const auto session = open_session(path(), codec, limits);
    return session.ok() ? "opened" : session.error().message;
  }
  std::string bytes() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void replace(const std::string& content) const {
    std::ofstream(path(), std::ios::binary | std::ios::trunc) << content;
  }
  /// Runs SQL while the table's declaration lets everything pass, then restores the declaration.
  void plant(const std::string& table, const std::string& sql) const {
    const std::string where = fmt::format("WHERE name = '{}'", table);
    alter(path(),
          "CREATE TABLE kept AS SELECT sql FROM sqlite_schema " + where +
              "; PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = replace(replace("
              "replace(sql, ' NOT NULL', ''), ') STRICT, WITHOUT', ') WITHOUT'), ') STRICT', "
              "')') " +
              where);
    alter(path(), sql);
    alter(path(),
          "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = (SELECT sql FROM kept) " +
              where);
    alter(path(), "DROP TABLE kept");
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

// Pages that the window does not read (the lookup tables are for people) may be spoiled unnoticed.
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

/// (table, column) of every text that the file may hold, by SQLite's own word.
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

// Words are cut and shown as they may be; a keyword or a document of this kind is refused shortly.
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
    const SampleCodec codec;
    const auto session = open_session(path(), codec);
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
  EXPECT_GT(opened, columns.size() / 3) << "most words are for people";
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

TEST_F(SessionHostile, NewerSchema) {
  alter(path(), "PRAGMA user_version=9");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("schema version 9"), HasSubstr("reads versions 1 to 8"),
                               HasSubstr("newer Expertscope")));
}

TEST_F(SessionHostile, TooLarge) {
  const SampleCodec codec;
  EXPECT_THAT(refusal({.max_file_bytes = 4096}), HasSubstr("the limit is 4096"));
  EXPECT_THAT(refusal({.max_runs = 1}), HasSubstr("more runs than the limit of 1"));
  EXPECT_THAT(refusal({.max_records = 5}),
              HasSubstr("record_count is 3; it must be between 0 and 2"));
  EXPECT_THAT(refusal({.max_memory_bytes = 5000}), HasSubstr("memory than the limit of 5000"));
}

TEST_F(SessionHostile, InterruptedChange) {
  std::ofstream(path() + "-journal") << "x";
  EXPECT_THAT(refusal(), HasSubstr("s-journal lies beside it"));
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
    {"Trigger", nullptr, "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END",
     "trigger 't' does not belong"},
    {"ViewForTable", nullptr, "DROP TABLE names; CREATE VIEW names AS SELECT 1 AS run_id",
     "view 'names' does not belong"},
    {"ExtraTable", nullptr, "CREATE TABLE more(x)", "table 'more' does not belong"},
    {"Index", nullptr, "CREATE INDEX i ON runs(abs(flop))", "index 'i' does not belong"},
    {"MissingTable", nullptr, "DROP TABLE iterations", "has no table 'iterations'"},
    {"OtherColumns", nullptr, "DROP TABLE splits; CREATE TABLE splits(run_id, expert)",
     "table 'splits' is not defined as schema version 8 defines it"},
    {"ReplaysBelowZero", nullptr, "UPDATE replay_watches SET replays = -1", "replays"},
    {"DeadlineBelowZero", nullptr, "UPDATE replay_watches SET deadline_seconds = -1", "at least 0"},
    {"PercentileOfNoExperiment", nullptr, "INSERT INTO stall_percentiles VALUES(1, 1000, 1.0)",
     "stall_percentiles"},
    {"RenamedColumn", nullptr, "ALTER TABLE names RENAME COLUMN name TO label",
     "table 'names' is not defined"},
    {"ComparisonOfNoScaling", "comparison_reports", "UPDATE comparison_reports SET scaling = 'fp3'",
     "scaling"},
    {"ComparisonWithoutItsCells", "comparison_samples",
     "UPDATE comparison_samples SET \"rows\" = 7", "blob original declares"},
    {"ComparisonOfHugeSample", "comparison_samples",
     "UPDATE comparison_samples SET \"columns\" = 33",
     "columns is 33; it must be between 0 and 32"},
    {"ComparisonOfShortCodes", "comparison_samples", "UPDATE comparison_samples SET codes = x'00'",
     "blob codes has 1 bytes where 2 belong"},
    {"ComparisonCodeOutside", "comparison_codes",
     "UPDATE comparison_codes SET code = 16 WHERE code = 15",
     "code is 16; it must be between 0 and 15"},
    {"ComparisonReportOutside", "comparison_times",
     "UPDATE comparison_times SET report = report + 9", "report is 9"},
    {"ComparisonHistory", "comparison_recipes", "UPDATE comparison_recipes SET history_length = 0",
     "history_length is 0"},
    {"NullText", "runs", "UPDATE runs SET device_name = NULL",
     "device_name is NULL where a text belongs"},
    {"NullFlop", "runs", "UPDATE runs SET flop = NULL", "flop is NULL where a real belongs"},
    {"NullInteger", "splits", "UPDATE splits SET tokens = NULL", "tokens is NULL"},
    {"NullBlob", "scale_maps", "UPDATE scale_maps SET mean = NULL", "mean is NULL"},
    {"TextForInteger", "records", "UPDATE records SET lane = 'x'",
     "lane is a text where an integer belongs"},
    {"BlobForText", "names", "UPDATE names SET name = x'00ff'", "name is a blob"},
    {"RealForInteger", "iterations", "UPDATE iterations SET start_ns = 0.5", "start_ns is a real"},
    {"InvalidUtf8", nullptr, "UPDATE names SET name = CAST(x'c3' AS TEXT)", "not valid UTF-8"},
    {"NulInText", nullptr, "UPDATE notes SET value = 'a' || char(0) || 'b'", "without NUL"},
    {"HugeText", nullptr, "UPDATE notes SET value = CAST(zeroblob(5000000) AS TEXT)", "too big"},
    {"HugeRecordCount", nullptr, "UPDATE runs SET record_count = 9000000000000000000",
     "record_count is 9000000000000000000; it must be between 0 and"},
    {"NegativeRecordCount", nullptr, "UPDATE runs SET record_count = -1", "record_count is -1"},
    {"MissingRecords", nullptr, "DELETE FROM records WHERE run_id = 2",
     "run 2 has 0 records and a record_count of 3"},
    {"SurplusRecords", nullptr, "UPDATE runs SET record_count = 2",
     "more records than its record_count of 2"},
    {"RunGap", nullptr, "UPDATE runs SET run_id = 9 WHERE run_id = 2", "run_id is 9"},
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
    {"SplitTooLarge", nullptr, "UPDATE splits SET tokens = 16777217", "split is 16777217"},
    {"NameOutOfRange", nullptr, "UPDATE records SET name_id = 3",
     "name_id is 3; it must be between 0 and 2"},
    {"ExpertOutOfRange", nullptr, "UPDATE records SET expert = 3", "record expert is 3"},
    {"IterationOutOfRange", nullptr, "UPDATE records SET iteration = 2",
     "iteration is 2; it must be between -1 and 1"},
    {"LayerOutOfRange", nullptr, "UPDATE records SET layer = 2", "record layer is 2"},
    {"StageOutOfRange", nullptr, "UPDATE records SET stage = 11", "stage is 11"},
    {"KindOutOfRange", nullptr, "UPDATE records SET kind = 5", "kind is 5"},
    {"LaneOutOfRange", nullptr, "UPDATE records SET lane = 65536", "lane is 65536"},
    {"EventEndsBeforeItsStart", nullptr, "UPDATE host_events SET end_ns = start_ns - 1",
     "end_ns is"},
    {"EventsOutOfOrder", nullptr, "UPDATE host_events SET start_ns = -end_ns, end_ns = 100",
     "host event start_ns (ascending)"},
    {"EventOfNoName", nullptr, "UPDATE host_events SET name_id = 3", "name_id is 3"},
    {"EventOfNoKind", nullptr, "UPDATE host_events SET kind = 'magic'", "kind"},
    {"EventOfNoIteration", nullptr, "UPDATE memory_events SET iteration = 2", "iteration is 2"},
    {"EventLayerOutOfRange", nullptr, "UPDATE memory_events SET layer = 2", "event layer is 2"},
    {"MemoryOfNoSpace", nullptr, "UPDATE memory_events SET space = 'outer'", "space"},
    {"MemoryOfNoOperation", nullptr, "UPDATE memory_events SET operation = 'lend'", "operation"},
    {"MemoryOutOfOrder", nullptr, "UPDATE memory_events SET time_ns = -time_ns",
     "memory event time_ns (ascending)"},
    {"EndBeforeStart", nullptr, "UPDATE records SET end_ns = start_ns - 1", "end_ns is"},
    {"TimeTooFar", nullptr, "UPDATE records SET end_ns = 9223372036854775807", "record end_ns is"},
    {"RecordsOutOfOrder", nullptr, "UPDATE records SET start_ns = -end_ns, end_ns = 100",
     "record start_ns (ascending)"},
    {"NegativeDuration", nullptr, "UPDATE iterations SET duration_ns = -1", "duration_ns is -1"},
    {"NegativeFlop", nullptr, "UPDATE runs SET flop = -1.0", "flop is -1"},
    {"InfiniteFlop", nullptr, "UPDATE runs SET flop = 9e999", "flop is inf"},
    {"NegativeError", nullptr, "UPDATE experts SET max_abs_error = -1.0", "is negative"},
    {"WrongExpertTwice", nullptr, "INSERT INTO replay_wrong_experts VALUES(1, 1, 3)",
     "replay check expert is 3"},
    {"WrongExpertOfNoCheck", nullptr, "UPDATE replay_wrong_experts SET position = 2",
     "position is 2; it must be between 0 and 1"},
    {"UnknownOperand", nullptr, "UPDATE operands SET operand = 'Z' WHERE operand = 'W'",
     "operand is 'Z'"},
    {"BinOutOfRange", nullptr, "UPDATE histograms SET first_bin = 1024, bin_count = 1",
     "bin_count is 1; it must be between 0 and 0"},
    {"BinOutsideHistogram", nullptr, "UPDATE histogram_bins SET bin = 1023 WHERE count > 1000",
     "bin is 1023"},
    {"NegativeCount", nullptr, "UPDATE histogram_bins SET count = -5", "count is -5"},
    {"MapTooWide", nullptr, "UPDATE scale_maps SET columns = 513", "columns is 513"},
    {"MapOfOtherSize", nullptr, "UPDATE scale_maps SET columns = 512",
     "blob mean declares 24 bytes of content where 4096 belong"},
    {"BlobNoZstd", nullptr, "UPDATE scale_maps SET mean = x'0102030405060708'",
     "blob mean is not a zstd frame"},
    {"BlobEmpty", nullptr, "UPDATE scale_maps SET maximum = x''", "blob maximum is not a zstd"},
    {"BlobCut", nullptr, "UPDATE scale_maps SET mean = substr(mean, 1, length(mean) - 1)",
     "blob mean does not"},
    // Magic, single segment with an 8-byte content size of 2^60.
    {"BlobBomb", nullptr, "UPDATE scale_maps SET mean = x'28b52ffde00000000000000010010000'",
     "blob mean declares 1152921504606846976 bytes"},
    {"MapRowsDescend", nullptr, "UPDATE scale_map_experts SET first_row = 90 WHERE position = 2",
     "expert_first_row is 90; it must be between 100 and 300"},
    {"MapRowsSurplus", nullptr, "INSERT INTO scale_map_experts VALUES(1, 'X', 4, 300)",
     "names the rows of 4 experts"},
    {"NodeTwice", nullptr, "UPDATE graph_nodes SET node_id = 5", "is there twice"},
    {"EdgeToLater", nullptr, "UPDATE graph_edges SET depends_on = 6",
     "depends on 6, which does not come before it"},
    {"EdgeOfNoNode", nullptr, "UPDATE graph_edges SET node_position = 5 WHERE node_position = 2",
     "node_position is 5"},
    {"RequestNoJson", nullptr, "UPDATE runs SET request_json = '{'",
     "request_json: seed is missing"},
    {"EffectiveBeyondLimits", nullptr,
     "UPDATE runs SET effective_json = '{\"seed\": 1, \"num_experts\": 2000}'",
     "effective request: shape.num_experts is 2000"},
    {"SnapshotOfNobody", nullptr, "UPDATE snapshots SET owner = 'guest' WHERE snapshot_id = 1",
     "owner is 'guest'"},
    {"SnapshotOfNoRun", nullptr, "UPDATE snapshots SET owner_id = 3 WHERE owner = 'run'",
     "owner_id is 3; it must be between 1 and 2"},
    {"TwoSnapshotsOfOneRun", nullptr, "UPDATE snapshots SET owner_id = 1 WHERE owner = 'run'",
     "run 1 has two snapshots"},
    {"SnapshotGap", nullptr, "UPDATE snapshots SET snapshot_id = 9 WHERE snapshot_id = 2",
     "snapshot_id is 3 where 2 comes next"},
    {"GraphGap", nullptr, "DELETE FROM snapshot_graphs WHERE graph = 0", "graph is 1 where 0"},
    {"VariantOfLaterGraph", nullptr, "UPDATE snapshot_graphs SET variant_of = 5 WHERE graph = 1",
     "graphs[1].variant_of is 5"},
    {"NodeOfNoGraph", nullptr, "UPDATE snapshot_nodes SET graph = 7 WHERE graph = 1",
     "table snapshot_nodes, row"},
    {"NodeOfNoType", nullptr, "UPDATE snapshot_nodes SET type = 14", "type is not known"},
    {"NodeTypeTooLarge", nullptr, "UPDATE snapshot_nodes SET type = 256", "type is 256"},
    {"NodeInItself", nullptr, "UPDATE snapshot_nodes SET parent = node WHERE node = 2",
     "nodes[2].parent is 2"},
    {"NodeStage", nullptr, "UPDATE snapshot_nodes SET stage = 11", "stage is 11"},
    {"KernelOfNoNode", nullptr, "UPDATE snapshot_kernels SET node = node + 100", "node is 100"},
    {"KernelIsAlsoMemset", nullptr,
     "INSERT INTO snapshot_memsets SELECT snapshot_id, graph, node, 0, 0, 1, 0, 1, 0 FROM "
     "snapshot_kernels",
     "has parameters of two kinds"},
    {"HugeParameters", nullptr, "UPDATE snapshot_kernels SET parameter_bytes = 1 << 40",
     "parameter_bytes is 1099511627776"},
    {"ParametersOfOtherSize", nullptr, "UPDATE snapshot_kernels SET parameter_bytes = 60000",
     "blob parameters"},
    {"ParametersNoZstd", nullptr,
     "UPDATE snapshot_kernels SET parameter_bytes = 8, parameters = x'0102030405060708'",
     "blob parameters is not a zstd frame"},
    {"SlotsMissing", nullptr, "UPDATE snapshot_kernels SET slots = x'' WHERE slot_count > 0",
     "blob slots is not a zstd frame"},
    {"GridTooLarge", nullptr, "UPDATE snapshot_kernels SET grid_x = 1 << 33", "grid_x is 85899"},
    {"MemoryOperation", nullptr, "UPDATE snapshot_memory SET operation = 'keep'",
     "operation is 'keep'"},
    {"EdgeBackwards", nullptr, "UPDATE snapshot_edges SET from_node = to_node, to_node = from_node",
     "has an edge from node"},
    {"EdgeKindUnknown", nullptr, "UPDATE snapshot_edges SET kind = 3", "kind is 3"},
    {"EdgeIntoAChild", nullptr,
     "UPDATE snapshot_nodes SET parent = 0 WHERE node = 5; UPDATE snapshot_nodes SET parent = -1 "
     "WHERE node < 5; UPDATE snapshot_edges SET from_node = 4, to_node = 5 WHERE position = 0",
     "has an edge from node 4 to node 5"},
    {"AllocationTwice", nullptr, "UPDATE allocations SET allocation_id = 7",
     "ledger is not in ascending order"},
    {"AllocationPastTheEnd", nullptr, "UPDATE allocations SET address = -1, bytes = 2",
     "is out of range"},
    {"AllocationRole", nullptr, "UPDATE allocations SET role = 12", "role is 12"},
    {"FindingNodeOutside", nullptr, "UPDATE finding_nodes SET node = 900", "finding node is 900"},
    {"AccessOutside", nullptr, "UPDATE finding_accesses SET graph = -1", "access node is -1"},
    {"Confidence", nullptr, "UPDATE findings SET confidence = 4", "confidence is 4"},
    {"PurposeUnknown", nullptr, "UPDATE experiments SET purpose = 'fun' WHERE purpose = 'made'",
     "purpose is 'fun'"},
    {"ExperimentGap", nullptr, "DELETE FROM experiments WHERE purpose = 'made' AND position = 0",
     "table experiments, row"},
    {"ExperimentOfNoFinding", nullptr, "UPDATE experiments SET finding = 50", "finding is 50"},
    {"ChangeOutside", nullptr, "UPDATE experiment_changes SET graph = 40", "node is 40"},
    {"OrderedToNothing", nullptr, "UPDATE experiment_changes SET to_node = -1", "ordered node is"},
    {"VerdictUnknown", nullptr, "UPDATE experiment_outcomes SET verdict = 6", "verdict is 6"},
    {"WrongPartOutside", nullptr, "UPDATE experiment_wrong_parts SET part = 50", "part is 50"},
    {"StallOutside", nullptr, "UPDATE experiment_stalls SET last_finished = 500",
     "stall last_finished is 500"},
    {"StallNodesOfNoStall", nullptr, "DELETE FROM experiment_stalls",
     "this experiment has no stall"},
    {"VisitRequest", nullptr, "UPDATE visits SET request_json = '{'", "request_json"},
};

INSTANTIATE_TEST_SUITE_P(All, SessionAttack, testing::ValuesIn(kAttacks),
                         [](const auto& attack) { return std::string(attack.param.name); });

}  // namespace
}  // namespace profiling

// Snapshots and visits of the graph doctor in a session file.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string>
#include <vector>

#include "tests/support/cpu_time.h"
#include "tests/support/patience.h"
#include "tests/unit/session/sample_recording.h"
#include "tests/unit/session/sample_visit.h"

namespace profiling {
namespace {

using testing::HasSubstr;

constexpr int kRounds = 25;

TEST(SessionVisit, RandomValuesRoundTrip) {
  const ScratchFolder folder;
  const std::string path = folder.file("s");
  {
    auto writer = SessionWriter::create(path);
    ASSERT_TRUE(writer.ok());
    for (int i = 0; i < kRounds; ++i) {
      RecordedRun run = sample_run(i);
      if (i % 3 == 0) run.snapshot = {};
      engine::Status kept = writer.value()->append(run);
      if (kept.ok()) kept = writer.value()->append(sample_visit(i));
      ASSERT_TRUE(kept.ok()) << kept.error().message;
    }
    const engine::Status bare = writer.value()->append(RecordedVisit{});
    ASSERT_TRUE(bare.ok()) << bare.error().message;
  }
  const auto session = open_session(path);
  ASSERT_TRUE(session.ok()) << session.error().message;
  ASSERT_EQ(session.value().visits.size(), kRounds + 1U);
  for (int i = 0; i < kRounds; ++i) {
    const auto index = static_cast<std::size_t>(i);
    const RecordedVisit& visit = session.value().visits[index];
    const RecordedVisit expected = sample_visit(i);
    EXPECT_TRUE(visit.report.snapshot == expected.report.snapshot) << "visit " << i;
    EXPECT_TRUE(visit.report.findings == expected.report.findings) << "visit " << i;
    EXPECT_TRUE(visit.report.experiments == expected.report.experiments) << "visit " << i;
    EXPECT_TRUE(visit.report == expected.report) << "visit " << i;
    EXPECT_EQ(visit.wall_clock_ms, expected.wall_clock_ms);
    EXPECT_EQ(visit.request.seed, expected.request.seed);
    const Snapshot none;
    EXPECT_TRUE(session.value().runs[index].snapshot == (i % 3 == 0 ? none : sample_snapshot(i)));
  }
  EXPECT_TRUE(session.value().visits.back().report == DoctorReport{});
}

// The query of the session's README.
TEST(SessionVisit, AnswersWhichNodesAreAffected) {
  const ScratchFolder folder;
  ASSERT_EQ(record(folder.file("s"), 1), "");
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(folder.file("s").c_str(), &database), SQLITE_OK);
  std::vector<std::string> names;
  const auto keep = [](void* to, int, char** cells, char**) {
    static_cast<std::vector<std::string>*>(to)->emplace_back(cells[2]);
    return 0;
  };
  const int code = sqlite3_exec(
      database,
      "SELECT f.rule, f.title, n.name FROM findings f JOIN finding_nodes p USING (visit_id, "
      "finding) JOIN snapshots s ON s.owner = 'visit' AND s.owner_id = f.visit_id JOIN "
      "snapshot_nodes n USING (snapshot_id, graph, node)",
      keep, &names, nullptr);
  EXPECT_EQ(code, SQLITE_OK) << sqlite3_errmsg(database);
  sqlite3_close(database);
  std::vector<std::string> expected;
  const DoctorReport report = sample_visit(0).report;
  for (const Finding& finding : report.findings) {
    for (const NodeRef& place : finding.nodes) {
      const auto& nodes = report.snapshot.graphs.at(static_cast<std::size_t>(place.graph)).nodes;
      expected.push_back(nodes.at(static_cast<std::size_t>(place.node)).name);
    }
  }
  EXPECT_FALSE(expected.empty());
  EXPECT_THAT(names, testing::UnorderedElementsAreArray(expected));
}

std::string refusal(const RecordedVisit& visit) {
  const ScratchFolder folder;
  auto writer = SessionWriter::create(folder.file("s"));
  const engine::Status status = writer.value()->append(visit);
  return status.ok() ? "recorded" : status.error().message;
}

TEST(SessionVisit, UnreadableValuesAreNotWritten) {
  RecordedVisit visit = sample_visit(1);
  visit.report.experiments[0].finding = 99;
  EXPECT_THAT(refusal(visit), HasSubstr("the visit is not recorded: experiment finding is 99"));
  visit = sample_visit(1);
  visit.report.findings[0].nodes.push_back({.graph = 0, .node = 1000});
  EXPECT_THAT(refusal(visit), HasSubstr("finding node is 1000"));
  visit = sample_visit(1);
  visit.report.snapshot.graphs[0].edges.push_back({.from = 2, .to = 1});
  EXPECT_THAT(refusal(visit), HasSubstr("edge from node 2 to node 1"));
  visit = sample_visit(1);
  visit.report.experiments[0].outcome.seconds = -1.0;
  EXPECT_THAT(refusal(visit), HasSubstr("outcome.seconds is -1"));
  visit = sample_visit(1);
  visit.report.conclusion = std::string("a\0b", 3);
  EXPECT_THAT(refusal(visit), HasSubstr("table visits: conclusion is not valid UTF-8 text"));
}

TEST(SessionVisit, TenThousandNodesWithAllTheirParameters) {
  RecordedVisit visit;
  visit.report.snapshot.graphs.resize(1);
  GraphSnapshot& graph = visit.report.snapshot.graphs[0];
  for (int n = 0; n < 10'000; ++n) {
    KernelNode kernel{.function = fmt::format("_Z6kernel{}", n % 50)};
    for (std::uint32_t i = 0; i < 256; ++i) {
      kernel.slots.push_back({.offset = i * 8, .bytes = 8});
      const std::uint64_t address = 0x7f0000000000 + static_cast<std::uint64_t>(n) * i * 256;
      for (int b = 0; b < 8; ++b) {
        kernel.parameters.push_back(static_cast<std::byte>(address >> (8 * b)));
      }
    }
    graph.nodes.push_back(
        {.type = NodeType::Kernel, .name = "kernel", .parameters = std::move(kernel)});
    if (n > 0) graph.edges.push_back({.from = n - 1, .to = n});
  }
  const ScratchFolder folder;
  const double start = tests::cpu_seconds();
  auto writer = SessionWriter::create(folder.file("s"));
  ASSERT_TRUE(writer.value()->append(visit).ok());
  writer = engine::Error{};
  const double written = tests::cpu_seconds();
  const auto session = open_session(folder.file("s"));
  const double read = tests::cpu_seconds();
  ASSERT_TRUE(session.ok()) << session.error().message;
  EXPECT_TRUE(session.value().visits[0].report == visit.report);
  RecordProperty("write_ms", static_cast<int>(1e3 * (written - start)));
  RecordProperty("read_ms", static_cast<int>(1e3 * (read - written)));
  // The goal is one second; the limit leaves room for a slow machine.
  EXPECT_LT(read - start, 10 * tests::patience());
}

}  // namespace
}  // namespace profiling

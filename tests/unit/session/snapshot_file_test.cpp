// Files that hold captured graphs are told apart by their contents.
#include "profiling/session/session_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "profiling/session/former_subject.h"
#include "tests/unit/session/sample_recording.h"
#include "tests/unit/session/sample_visit.h"

namespace profiling {
namespace {

using testing::HasSubstr;

constexpr const char* kDot =
    "\n// a remark\ndigraph dot {\n\"a\"[shape=\"octagon\" label=\"0\n_Z1fv\n\"];\n}\n";

std::string refusal(const std::string& path) {
  const auto snapshots = open_snapshot(path);
  return snapshots.ok() ? "opened" : snapshots.error().message;
}

TEST(SnapshotFile, ARecordingGivesRunsThenVisits) {
  const ScratchFolder folder;
  ASSERT_EQ(record(folder.file("s.dot"), 2), "");
  const auto snapshots = open_snapshot(folder.file("s.dot"));
  ASSERT_TRUE(snapshots.ok()) << snapshots.error().message;
  ASSERT_EQ(snapshots.value().size(), 3U);
  EXPECT_TRUE(snapshots.value()[1].report == DoctorReport{.snapshot = sample_snapshot(1)});
  EXPECT_EQ(snapshots.value()[1].title, "run 2: " + sample_snapshot(1).subject);
  EXPECT_EQ(snapshots.value()[1].run, 1);
  EXPECT_EQ(snapshots.value()[1].visit, -1);
  // With what its experiments have shown.
  EXPECT_TRUE(snapshots.value()[2].report == sample_visit(0).report);
  EXPECT_TRUE(snapshots.value()[2].request == sample_visit(0).request);
  EXPECT_EQ(snapshots.value()[2].visit, 0);
  EXPECT_EQ(snapshots.value()[2].run, -1);
}

TEST(SnapshotFile, AFormerSubjectCountsRowsAsToday) {
  EXPECT_EQ(present_subject("expert layer, 32 experts, 32768 tokens, n 4096, k 7168, 1 layer"),
            "expert layer, 32 experts, 32 768 rows, n 4096, k 7168, 1 layer");
  for (const char* kept : {"a file of 12 tokens, n 3", "expert layer, 2 experts, many tokens, n 3",
                           "expert layer, 2 experts, 64 rows, n 3", "A workspace grows", ""}) {
    EXPECT_EQ(present_subject(kept), kept);
  }
}

TEST(SnapshotFile, ADotFileUnderAnyName) {
  const ScratchFolder folder;
  std::ofstream(folder.file("graph.session")) << kDot;
  const auto snapshots = open_snapshot(folder.file("graph.session"));
  ASSERT_TRUE(snapshots.ok()) << snapshots.error().message;
  ASSERT_EQ(snapshots.value().size(), 1U);
  EXPECT_EQ(snapshots.value()[0].title, "graph.session");
  EXPECT_EQ(snapshots.value()[0].report.snapshot.graphs.at(0).nodes.at(0).name, "f");
}

TEST(SnapshotFile, ALargeDotFileIsReadToItsEnd) {
  const ScratchFolder folder;
  std::ofstream(folder.file("g.dot")) << kDot << std::string(100'000, '\n') << "\"a\" -> \"b\"";
  EXPECT_THAT(refusal(folder.file("g.dot")), HasSubstr("line 100008: this edge names node 'b'"));
}

TEST(SnapshotFile, RefusesEverythingElse) {
  const ScratchFolder folder;
  EXPECT_THAT(refusal(folder.file("none")), HasSubstr("No such file"));
  std::filesystem::create_directory(folder.file("folder"));
  EXPECT_THAT(refusal(folder.file("folder")), HasSubstr("is not a regular file"));
  std::ofstream(folder.file("text")) << "hello";
  EXPECT_THAT(refusal(folder.file("text")), HasSubstr("is neither a recording nor a dot file"));
  std::ofstream(folder.file("empty")) << "";
  EXPECT_THAT(refusal(folder.file("empty")), HasSubstr("is neither a recording nor a dot file"));
  ASSERT_EQ(record(folder.file("bare"), 0), "");
  EXPECT_THAT(refusal(folder.file("bare")), HasSubstr("holds no captured graph"));
}

}  // namespace
}  // namespace profiling

// Cells of the version matrix, their rows in a file, and the remaining work after a stop.
#include "app/doctor/matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace app {
namespace {

using profiling::Verdict;
using ::testing::HasSubstr;

MatrixRow row_of(const MatrixCell& cell, Verdict verdict) {
  MatrixRow row;
  row.cell = cell;
  row.version = "13.5.1";
  row.device = "a device";
  row.driver = "13.0";
  row.verdict = verdict;
  row.replay = verdict == Verdict::Wrong || verdict == Verdict::Hung ? 2 : 0;
  row.replays = 6;
  row.seconds = 1.5;
  row.message = verdict == Verdict::Refused ? "no algorithm \"here\"\n" : "";
  row.date = "2026-11-21T10:00:00Z";
  return row;
}

TEST(Matrix, CellsAreTheProductOfTheAxes) {
  MatrixAxes axes;
  axes.libraries = {"a", "b"};
  const std::vector<MatrixCell> cells = cells_of(axes);
  EXPECT_EQ(cells.size(), 2U * 3 * 4 * 3 * 3);
  EXPECT_EQ(cells.front().library, "a");
  EXPECT_EQ(cells.back().library, "b");
  for (const MatrixCell& cell : cells) {
    EXPECT_TRUE(engine::validate(request_of(cell)).ok());
    EXPECT_EQ(request_of(cell).layers, cell.sequence == ProductSequence::Forward ? 2 : 1);
  }
}

TEST(Matrix, GeometriesAreReadAndRefused) {
  const auto read = parse_geometry("4x512x256x128");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value(), (MatrixGeometry{4, 512, 256, 128}));
  EXPECT_EQ(geometry_name(read.value()), "4x512x256x128");
  for (const char* text : {"", "4", "4x512x256", "4x512x256x128x1", "4x512x256x100", "0x1x16x16",
                           "4x-1x256x256", "4x512x256xk", "99999999999x1x16x16"}) {
    EXPECT_FALSE(parse_geometry(text).ok()) << text;
  }
}

TEST(Matrix, RowsRoundTripThroughTheirLines) {
  MatrixAxes axes;
  axes.libraries = {"/lib/\xC3\xA4 \"x\""};
  std::string file;
  std::vector<MatrixRow> rows;
  int i = 0;
  for (const MatrixCell& cell : cells_of(axes)) {
    rows.push_back(row_of(cell, static_cast<Verdict>(i++ % 6)));
    const std::string line = to_json_line(rows.back());
    EXPECT_EQ(line.find('\n'), std::string::npos);
    file += line + '\n';
  }
  const auto read = read_rows(file);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value(), rows);
}

TEST(Matrix, AStoppedSweepContinuesWithTheMissingCells) {
  MatrixAxes axes;
  axes.libraries = {"a"};
  const std::vector<MatrixCell> cells = cells_of(axes);
  const std::string file = to_json_line(row_of(cells[0], Verdict::Wrong)) + '\n' +
                           to_json_line(row_of(cells[1], Verdict::NotRun)) + '\n' +
                           to_json_line(row_of(cells[2], Verdict::Right)).substr(0, 40);
  const auto rows = read_rows(file);
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows.value().size(), 2U);
  const std::vector<MatrixCell> missing = missing_cells(cells, rows.value());
  EXPECT_EQ(missing.size(), cells.size() - 1);
  EXPECT_EQ(missing.front(), cells[1]);
}

TEST(Matrix, AMalformedLineIsNamed) {
  const std::string good = to_json_line(row_of({}, Verdict::Right)) + '\n';
  for (const char* bad : {"{}", "[]", "nonsense", "{\"library\": 3}", "\xFF\xFE"}) {
    const auto rows = read_rows(good + bad + "\n");
    ASSERT_FALSE(rows.ok()) << bad;
    EXPECT_THAT(rows.error().message, HasSubstr("line 2"));
  }
  std::string unknown = good;
  unknown.replace(unknown.find("fp8-block"), 9, "fp8-blook");
  EXPECT_FALSE(read_rows(unknown).ok());
}

TEST(Matrix, TheTableHasOneColumnPerStrategyAndFootnotes) {
  MatrixCell cell;
  cell.library = "/lib/libcublasLt.so.13";
  std::vector<MatrixRow> rows = {row_of(cell, Verdict::Wrong)};
  cell.workspace = engine::WorkspaceStrategy::PerMatmul;
  rows.push_back(row_of(cell, Verdict::Right));
  cell.recipe = engine::Scaling::None;
  rows.push_back(row_of(cell, Verdict::Refused));
  const std::string table = matrix_table(rows);
  EXPECT_THAT(table, HasSubstr("fp8-block\n"));
  EXPECT_THAT(table, HasSubstr("13.5.1    forward   4x512x256x256"));
  EXPECT_THAT(table, HasSubstr("wrong from 2   ok"));
  EXPECT_THAT(table, HasSubstr("refused [1]"));
  EXPECT_THAT(table, HasSubstr("[1] no algorithm"));
  EXPECT_EQ(matrix_table({}), "");
}

}  // namespace
}  // namespace app

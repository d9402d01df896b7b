// The pictures of runs and visits: what they show, and that nothing is cut off.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "app/page/channel_picture.h"
#include "app/page/html_page.h"
#include "app/page/png.h"
#include "app/page/scale_map_picture.h"
#include "app/page/step_timeline.h"
#include "app/page/visit_pictures.h"
#include "tests/unit/page/count.h"
#include "tests/unit/page/svg_reader.h"
#include "tests/unit/session/sample_visit.h"

namespace app {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

engine::ScaleMap map_of(int rows, int columns) {
  engine::ScaleMap map;
  map.block_rows = 1;
  map.block_columns = 128;
  map.source_rows = rows;
  map.source_columns = columns;
  map.rows = rows;
  map.columns = columns;
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      map.maximum.push_back(static_cast<float>(-7 - (row + column) % 4));
      map.mean.push_back(static_cast<float>(-9 - (row + column) % 3));
    }
  }
  map.expert_first_row = {0, rows / 2, rows};
  return map;
}

TEST(ScaleMapPicture, IsAnImageWithAxesAndALegend) {
  const std::string svg = markup_of(scale_map_picture(map_of(64, 56), "X").picture);
  EXPECT_EQ(count(svg, "<image"), 1U);
  EXPECT_THAT(svg, HasSubstr("data:image/png;base64,iVBOR"));
  EXPECT_THAT(svg, HasSubstr(">2^-7.0<"));
  EXPECT_THAT(svg, HasSubstr(">2^-10.0<"));
  EXPECT_THAT(svg, HasSubstr(">scale row<"));
  EXPECT_THAT(svg, HasSubstr(">scale_inv<"));
  EXPECT_EQ(outside_of(svg), "");
}

TEST(ChannelPicture, NamesOutliersAndKeepsInside) {
  engine::ChannelStatistics channels;
  channels.columns.channels = 512;
  channels.columns.median_amax = 3.5;
  channels.columns.outliers = 1;
  channels.columns.amax = std::vector<float>(512, 3.5F);
  channels.columns.amax[505] = 224.0F;
  channels.columns.largest = {{.index = 505, .expert = 1, .amax = 224.0, .place = 9},
                              {.index = 3, .expert = 0, .amax = 4.0, .place = 9}};
  const std::string svg = markup_of(channel_picture(channels, "X"));
  EXPECT_THAT(svg, HasSubstr(">505<"));
  EXPECT_THAT(svg, Not(HasSubstr(">3<")));
  EXPECT_THAT(svg, HasSubstr(">median<"));
  EXPECT_EQ(outside_of(svg), "");
  channels.columns.amax.assign(512, 0.0F);
  EXPECT_TRUE(channel_picture(channels, "X").empty());
}

TEST(ScaleMapPicture, ShowsMeansWhereAllFoldedCellsHaveTheSameLargest) {
  EXPECT_THAT(markup_of(scale_map_picture(map_of(512, 512), "X").picture),
              HasSubstr(">mean of log2 scale_inv<"));
  engine::ScaleMap outlier = map_of(512, 512);
  for (std::size_t row = 0; row < 512; ++row) {
    for (std::size_t column = 0; column < 40; ++column) outlier.maximum[row * 512 + column] = 3;
  }
  EXPECT_THAT(markup_of(scale_map_picture(outlier, "X").picture),
              HasSubstr(">largest scale_inv of a cell<"));
}

TEST(ScaleMapPicture, SaysThatLinesSeparateTheExpertsOnlyWhereThereAreLines) {
  engine::ScaleMap map = map_of(512, 4);
  EXPECT_THAT(scale_map_picture(map, "X").note, HasSubstr("Lines separate the experts"));
  map.expert_first_row.clear();
  for (int row = 0; row <= 512; ++row) map.expert_first_row.push_back(row);
  EXPECT_THAT(scale_map_picture(map, "X").note, Not(HasSubstr("Lines")));
}

TEST(ScaleMapPicture, MissingCellsAndMissingMapsAreNoError) {
  EXPECT_TRUE(scale_map_picture({}, "X").picture.empty());
  engine::ScaleMap map = map_of(4, 4);
  map.maximum.assign(16, std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(outside_of(markup_of(scale_map_picture(map, "X").picture)), "");
}

TEST(ScaleMapPicture, NoiseStaysSmall) {
  engine::ScaleMap map = map_of(512, 512);
  std::uint32_t random = 1;
  for (float& value : map.maximum) {
    random = random * 1664525U + 1013904223U;
    value = -static_cast<float>(random >> 8) * 0x1p-20F;
  }
  EXPECT_LT(markup_of(scale_map_picture(map, "X").picture).size(), 60'000U);
}

TEST(Png, NothingIsEmpty) {
  EXPECT_TRUE(png_of({}).empty());
  EXPECT_TRUE(png_of({.width = 2, .height = 2, .pixels = {0}, .colors = {0}}).empty());
  const std::vector<std::byte> png =
      png_of({.width = 2, .height = 1, .pixels = {0, kNoColor}, .colors = {0xFF0000}});
  ASSERT_GT(png.size(), 8U);
  EXPECT_EQ(std::memcmp(png.data(), "\x89PNG\r\n\x1a\n", 8), 0);
}

profiling::RecordedRun traced_run() {
  profiling::RecordedRun run;
  run.activity.names = {"void nvjet_sm90_qqtst(int)", "void other_kernel(int)"};
  for (int i = 0; i < 3; ++i) {
    const std::int64_t start = 1'000'000 * i;
    const std::int64_t longer = 10'000 * i;
    run.activity.records.push_back({.start_ns = start,
                                    .end_ns = start + 40'000,
                                    .iteration = i,
                                    .kind = profiling::ActivityKind::Kernel,
                                    .lane = 7,
                                    .stage = engine::Stage::Fprop});
    run.activity.records.push_back({.start_ns = start + 50'000,
                                    .end_ns = start + 200'000 + longer,
                                    .name = 1,
                                    .iteration = i,
                                    .kind = profiling::ActivityKind::Kernel,
                                    .lane = 7,
                                    .stage = engine::Stage::Other});
  }
  return run;
}

TEST(StepTimeline, ShowsTheMedianIterationWithReadableNames) {
  const StepTimeline timeline = step_timeline(traced_run());
  const std::string svg = markup_of(timeline.picture);
  EXPECT_THAT(timeline.note, HasSubstr("Iteration 1 is the median"));
  EXPECT_THAT(timeline.note, HasSubstr("210.0 µs"));
  EXPECT_THAT(svg, HasSubstr(">time, µs<"));
  EXPECT_THAT(svg, HasSubstr(">stream 7<"));
  EXPECT_THAT(svg, HasSubstr(">fprop</text>")) << "on its bar, and in the key";
  EXPECT_THAT(svg, HasSubstr(">other</text>")) << "a kernel of no stage has its own name";
  EXPECT_THAT(svg, HasSubstr("nvjet_qqtst: 40.00 µs</title>"))
      << "the library's name, under the mouse";
  EXPECT_EQ(outside_of(svg), "");
}

TEST(StepTimeline, IsEmptyWithoutTracedIterations) {
  EXPECT_TRUE(step_timeline({}).picture.empty());
  profiling::RecordedRun run = traced_run();
  for (profiling::ActivityRecord& one : run.activity.records) one.iteration = -1;
  EXPECT_TRUE(step_timeline(run).picture.empty());
}

TEST(StepTimeline, ManyRecordsAreFolded) {
  profiling::RecordedRun run;
  run.activity.names = {"k"};
  for (int i = 0; i < 100'000; ++i) {
    run.activity.records.push_back({.start_ns = 100 * i,
                                    .end_ns = 100 * i + 60,
                                    .iteration = 0,
                                    .kind = profiling::ActivityKind::Kernel,
                                    .stage = engine::Stage::Quantize});
  }
  const std::string svg = markup_of(step_timeline(run).picture);
  EXPECT_LT(svg.size(), 300'000U);
  EXPECT_THAT(svg, HasSubstr("records, busy for"));
}

std::string page_of(const profiling::DoctorReport& report) {
  HtmlPage page("t", {});
  write_visit_pictures(report, page);
  return page.finish();
}

/// Three outputs of two replays; the second replay is wrong before the cure.
profiling::DoctorReport proved_report() {
  profiling::DoctorReport report;
  profiling::GraphSnapshot graph{.name = "step"};
  for (const engine::Stage stage : {engine::Stage::Quantize, engine::Stage::Fprop}) {
    graph.nodes.push_back({.name = "kernel", .stage = stage});
  }
  graph.edges.push_back({.from = 0, .to = 1});
  report.snapshot.graphs.push_back(graph);
  report.findings.push_back({.rule = "shared-workspace", .nodes = {{.graph = 0, .node = 1}}});
  const auto checks = [](bool wrong) {
    std::vector<profiling::OutputCheck> made;
    for (int replay = 1; replay <= 2; ++replay) {
      made.push_back(
          {.replay = replay,
           .output = "Y <b>",
           .parts = 4,
           .wrong_parts = wrong && replay == 2 ? std::vector<int>{1, 3} : std::vector<int>{}});
    }
    return made;
  };
  profiling::Proof& proof = report.findings[0].proof;
  proof.needs_cure = true;
  proof.cures.poisoned_workspaces = 1;
  profiling::ExperimentRecord before{.title = "replayed", .experiment = proof.shows};
  before.outcome = {.verdict = profiling::Verdict::Wrong, .checks = checks(true)};
  profiling::ExperimentRecord after{.title = "moved", .finding = 0, .experiment = proof.cures};
  after.outcome = {.verdict = profiling::Verdict::Right, .checks = checks(false)};
  report.experiments = {before, after};
  return report;
}

TEST(VisitPictures, TheGraphNamesItsNodesAndMarksTheFinding) {
  const std::string page = page_of(proved_report());
  EXPECT_THAT(page, HasSubstr("The captured graph &quot;step&quot;"));
  EXPECT_THAT(page, HasSubstr(">named by shared-workspace<"));
  EXPECT_EQ(count(page, "stroke=\"var(--bad)\" stroke-width=\"2.5\""), 1U);
  EXPECT_THAT(page, HasSubstr(">fprop"));
  EXPECT_EQ(outside_of(page), "");
}

TEST(VisitPictures, ReplaysBeforeAndAfterTheCureHaveTheirWrongParts) {
  const std::string page = page_of(proved_report());
  EXPECT_THAT(page, HasSubstr("Replays before and after the cure"));
  EXPECT_THAT(page, HasSubstr(">before: replayed<"));
  EXPECT_THAT(page, HasSubstr(">after: moved<"));
  EXPECT_THAT(page, HasSubstr("replay 2: 2 of 4 parts differ"));
  EXPECT_THAT(page, HasSubstr("replay 1 to 2"));
  profiling::DoctorReport untried = proved_report();
  untried.experiments.pop_back();
  EXPECT_THAT(page_of(untried), Not(HasSubstr("before: replayed")));
  EXPECT_THAT(page_of(untried), HasSubstr(">replayed<"));
}

TEST(VisitPictures, TextsOfAReportAreEscaped) {
  profiling::DoctorReport report = proved_report();
  report.snapshot.graphs[0].nodes[0].name = "<script>";
  report.snapshot.graphs[0].nodes[0].stage = engine::Stage::Other;
  report.findings[0].rule = "</svg><script>";
  EXPECT_THAT(page_of(report), Not(HasSubstr("<script")));
}

TEST(VisitPictures, ASampleVisitAndAnEmptyOneAreDrawn) {
  for (int seed = 1; seed < 6; ++seed) {
    EXPECT_EQ(outside_of(page_of(profiling::sample_visit(seed).report)), "");
  }
  EXPECT_THAT(page_of({}), Not(HasSubstr("<svg")));
}

}  // namespace
}  // namespace app

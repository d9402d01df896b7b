// The frontier, groups of runs, and their tables.
#include "profiling/compare/sweep_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>

#include "profiling/compare/comparison_tables.h"
#include "profiling/document/text.h"
#include "profiling/export/csv.h"

namespace {

using profiling::FrontierPlace;
using profiling::GroupKind;
using profiling::RecordedRun;
using profiling::SnrChoice;
using profiling::SweepPoint;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNaN = std::nan("");

RecordedRun sweep_run(std::vector<double> snr, std::int64_t ns) {
  RecordedRun run;
  for (const double one : snr) {
    run.result.experts.emplace_back();
    run.result.experts.back().fprop.snr_db = one;
  }
  run.result.iterations.push_back({0, ns});
  run.group.label = "a, \"b\"";
  return run;
}

constexpr std::size_t kEnough = 40;  // samples for a verdict

/// Its times are evenly spread over `spread` of the median on both sides.
SweepPoint point(double snr, double ns, double spread = 0.01, std::size_t samples = kEnough) {
  SweepPoint made;
  made.worst_snr_db = made.median_snr_db = snr;
  for (std::size_t i = 0; i < samples; ++i) {
    const double place = (static_cast<double>(i) + 0.5) / static_cast<double>(samples);
    made.samples.durations_ns.push_back(ns * (1.0 + spread * (2.0 * place - 1.0)));
  }
  made.time = profiling::summarize(made.samples.durations_ns);
  return made;
}

std::vector<FrontierPlace> places(std::vector<SweepPoint>& points) {
  profiling::mark_frontier(points, SnrChoice::Worst);
  std::vector<FrontierPlace> places;
  for (const SweepPoint& one : points) places.push_back(one.frontier);
  return places;
}

TEST(SweepPoints, UseTheWorstAndTheMedianExpert) {
  const SweepPoint odd = sweep_point(sweep_run({40, kNaN, 20, 30}, 1000), engine::Product::Fprop);
  EXPECT_EQ(odd.worst_snr_db, 20.0);
  EXPECT_EQ(odd.median_snr_db, 30.0);
  EXPECT_EQ(odd.time.median, 1000.0);
  const SweepPoint exact =
      sweep_point(sweep_run({kInfinity, kInfinity}, 1), engine::Product::Fprop);
  EXPECT_EQ(exact.median_snr_db, kInfinity);
  EXPECT_TRUE(std::isnan(sweep_point(sweep_run({}, 1), engine::Product::Fprop).worst_snr_db));
}

TEST(SweepPoints, TheFrontierHoldsUnbeatenPoints) {
  std::vector<SweepPoint> points = {point(30, 100), point(40, 200), point(25, 120),
                                    point(kInfinity, 900), point(kNaN, 1)};
  EXPECT_THAT(places(points), ElementsAre(FrontierPlace::On, FrontierPlace::On, FrontierPlace::Off,
                                          FrontierPlace::On, FrontierPlace::Off));
}

TEST(SweepPoints, ADifferenceThatMayBeNoiseIsNoFrontier) {
  // 2 % faster than the exact one, while each varies by 10 %.
  std::vector<SweepPoint> points = {point(kInfinity, 100, 0.1), point(30, 98, 0.1),
                                    point(20, 50, 0.1)};
  EXPECT_THAT(places(points),
              ElementsAre(FrontierPlace::On, FrontierPlace::Undecided, FrontierPlace::On));
  ASSERT_TRUE(points[1].doubt);
  EXPECT_EQ(points[1].doubt->other, 0U);
  EXPECT_THAT(doubt_words(points, 1, "FP8", "BF16"),
              HasSubstr("BF16 is at least as accurate as FP8 and took 1.020 of its time (100 ns "
                        "against 98 ns, medians)"));
  EXPECT_THAT(doubt_words(points, 1, "FP8", "BF16"), HasSubstr("contains 1"));
  // The same difference, with less noise.
  points = {point(kInfinity, 100, 0.005), point(30, 98, 0.005), point(20, 50)};
  EXPECT_THAT(places(points), testing::Each(FrontierPlace::On));
  EXPECT_FALSE(points[1].doubt);
}

TEST(SweepPoints, NoPointIsPushedOffByNoise) {
  // The more accurate one is 1 % faster, while each varies by 10 %.
  std::vector<SweepPoint> points = {point(kInfinity, 100, 0.1), point(30, 101, 0.1)};
  EXPECT_THAT(places(points), ElementsAre(FrontierPlace::On, FrontierPlace::Undecided));
  EXPECT_FALSE(has_shortest_median(points[1], points));
  points[1] = point(30, 150, 0.1);
  EXPECT_THAT(places(points), ElementsAre(FrontierPlace::On, FrontierPlace::Off));
}

TEST(SweepPoints, FewSamplesAndOtherClocksDecideNothing) {
  std::vector<SweepPoint> points = {point(40, 200, 0.01, 5), point(30, 100, 0.01, 5)};
  EXPECT_THAT(places(points), ElementsAre(FrontierPlace::On, FrontierPlace::Undecided));
  // A fifth of the time and more accurate: what is missing is samples, and both have names.
  points = {point(40, 20, 0.01, 8), point(30, 100, 0.01, 8)};
  EXPECT_THAT(places(points), ElementsAre(FrontierPlace::On, FrontierPlace::Undecided));
  EXPECT_THAT(doubt_words(points, 1, "NVFP4", "BF16"),
              AllOf(HasSubstr("BF16 is at least as accurate as NVFP4 and took 0.200 of its time"),
                    HasSubstr("too few"), Not(HasSubstr("as fast")), Not(HasSubstr(" A "))));
  points = {point(40, 110), point(30, 100)};
  points[0].label = "slower one";
  points[1].label = "faster one";
  points[0].samples.sm_clock_mhz = 1500;
  points[1].samples.sm_clock_mhz = 1980;
  EXPECT_THAT(places(points), ElementsAre(FrontierPlace::On, FrontierPlace::Undecided));
  EXPECT_THAT(points[1].doubt->reason,
              AllOf(HasSubstr("SM clock"),
                    HasSubstr("1980 MHz for faster one and 1500 MHz for slower one")));
}

TEST(SweepPoints, OfTwoEquallyAccurateOnesTheSlowerIsOffUnlessTheyAreEqual) {
  std::vector<SweepPoint> points = {point(30, 100), point(30, 100), point(20, 50)};
  EXPECT_THAT(places(points),
              ElementsAre(FrontierPlace::Undecided, FrontierPlace::Undecided, FrontierPlace::On));
  points[1] = point(30, 150);
  EXPECT_THAT(places(points),
              ElementsAre(FrontierPlace::On, FrontierPlace::Off, FrontierPlace::On));
}

TEST(SweepPoints, APointIsBeatenOnlyByOneOfTheSameWorkAndSeed) {
  RecordedRun large = sweep_run({30}, 1000);
  RecordedRun small = sweep_run({30}, 10);
  small.result.effective.shape.rows = large.result.effective.shape.rows / 2;
  RecordedRun other_seed = sweep_run({30}, 10);
  other_seed.result.effective.seed = 2;
  RecordedRun faster = sweep_run({30}, 900);
  std::vector<SweepPoint> points;
  for (const RecordedRun* run : {&large, &small, &other_seed, &faster}) {
    points.push_back(sweep_point(*run, engine::Product::Fprop));
  }
  // Without a rival, one sample is enough.
  EXPECT_THAT(places(points), ElementsAre(FrontierPlace::Undecided, FrontierPlace::On,
                                          FrontierPlace::On, FrontierPlace::Undecided));
}

TEST(SweepPoints, GroupsAreRecognized) {
  profiling::RunList runs;
  const auto add = [&](GroupKind kind, std::int64_t id, int position) {
    RecordedRun run;
    run.group = {.kind = kind, .id = id, .position = position, .label = "x"};
    runs.push_back(std::make_shared<const RecordedRun>(std::move(run)));
  };
  add(GroupKind::Sweep, 5, 1);
  add(GroupKind::None, 0, 0);
  add(GroupKind::Interleaved, 5, 0);
  add(GroupKind::Sweep, 5, 0);
  const auto groups = profiling::groups_of(runs);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_THAT(groups[0].runs, ElementsAre(3U, 0U));
  EXPECT_EQ(groups[1].kind, GroupKind::Interleaved);
}

profiling::SettingsDifference other_seed() {
  return {.rows = {{.group = "requested", .field = "seed", .a = "1", .b = "2"}}, .same = 0};
}

TEST(ComparisonCsv, EveryRowHasAsManyCellsAsTheHeader) {
  RecordedRun a = sweep_run({40}, 1000);
  RecordedRun b = sweep_run({30}, 2000);
  a.result.splits = b.result.splits = {7};
  b.result.experts[0].fprop.lost = 3;
  const profiling::RunComparison comparison =
      profiling::compare_runs({&a}, {&b}, engine::Product::Fprop);
  const std::string text =
      profiling::csv_text(profiling::comparison_table(comparison, other_seed()));
  EXPECT_THAT(text, HasSubstr("expert,0,,,,,,,,,,,,,,,7,7,40,30,0,3,,\r\n"));
  EXPECT_THAT(text, HasSubstr("setting,requested.seed,,,,,,,,,,,,,,,,,,,,,1,2\r\n"));
  EXPECT_THAT(text, HasSubstr("step,,,,1,1,1000,2000,2,"));
  std::vector<SweepPoint> points = {sweep_point(a, engine::Product::Fprop)};
  EXPECT_THAT(profiling::csv_text(profiling::sweep_table(points)),
              HasSubstr("\"a, \"\"b\"\"\",1,1000,1000,1000,40,40,,0,no\r\n"));
}

TEST(SweepTable, SaysThatPointsOfOtherWorkAreNotCompared) {
  std::vector<SweepPoint> points = {point(40, 1000), point(40, 2000)};
  EXPECT_EQ(profiling::frontier_scope_words(points), "");
  EXPECT_EQ(profiling::sweep_table(points).note, "");
  points[0].work = "rows 256 seed 1";
  points[1].work = "rows 1024 seed 1";
  EXPECT_THAT(places(points), ElementsAre(FrontierPlace::On, FrontierPlace::On));
  EXPECT_THAT(profiling::sweep_table(points).note,
              AllOf(HasSubstr("are not compared"), HasSubstr("every point is the only one")));
  points.push_back(point(40, 3000));
  points[2].work = points[1].work;
  EXPECT_THAT(profiling::sweep_table(points).note,
              HasSubstr("each of the 2 kinds has a frontier of its own"));
}

TEST(SweepTable, FilesHaveAColumnForEverySettingThatVaries) {
  RecordedRun a = sweep_run({40}, 1000);
  RecordedRun b = sweep_run({30}, 2000);
  a.group.label = "rows 256, seed 1";
  a.request.shape.rows = 256;
  b.group.label = "rows 1024, seed 2";
  b.request.seed = 2;
  engine::TensorResult x{.tensor = engine::StepTensor::X};
  x.quantization.emplace().median_block_snr_db = 31.5;
  b.result.tensors = {std::move(x)};
  engine::RunRequest refused = b.request;
  refused.shape.rows = 100;
  std::vector<SweepPoint> points = {sweep_point(a, engine::Product::Fprop),
                                    sweep_point(b, engine::Product::Fprop)};
  EXPECT_EQ(profiling::csv_text(profiling::sweep_table(points)),
            "label,shape.rows,seed,n,median_ns,p5_ns,p95_ns,worst_snr_db,median_snr_db,"
            "typical_x_snr_db,left_out,frontier\r\n"
            "\"rows 256, seed 1\",256,1,1,1000,1000,1000,40,40,,0,no\r\n"
            "\"rows 1024, seed 2\",1024,2,1,2000,2000,2000,30,30,31.5,0,no\r\n");
  EXPECT_THAT(profiling::text_of(profiling::sweep_table(points)),
              testing::Not(HasSubstr("shape.rows")));
  points.push_back(profiling::unmeasured_point(refused, "rows 100, seed 2", "refused: odd"));
  const std::string text = profiling::csv_text(profiling::sweep_table(points));
  EXPECT_THAT(text, HasSubstr("frontier,unmeasured\r\n"));
  EXPECT_THAT(text, HasSubstr("\"rows 100, seed 2\",100,2,,,,,,,,,,refused: odd\r\n"));
  const std::string seen = profiling::text_of(profiling::sweep_table(points));
  EXPECT_THAT(seen, HasSubstr("not measured\n"));
  EXPECT_THAT(seen, HasSubstr("refused: odd\n"));
}

TEST(ComparisonTables, ExpertsHaveATableOfTheirOwn) {
  RecordedRun a = sweep_run({40}, 1000);
  RecordedRun b = sweep_run({30}, 2000);
  a.result.splits = b.result.splits = {7};
  b.result.experts[0].fprop.lost = 3;
  const profiling::RunComparison comparison =
      profiling::compare_runs({&a}, {&b}, engine::Product::Fprop);
  const profiling::Table table = profiling::expert_differences_table(comparison.experts);
  EXPECT_EQ(profiling::csv_text(table),
            "expert,n_a,n_b,median_a_ns,median_b_ns,ratio,ratio_low,ratio_high,control_ratio,"
            "block_p,clock_ratio,verdict,reason,tokens_a,tokens_b,snr_a_db,snr_b_db,left_out_a,"
            "left_out_b\r\n0,,,,,,,,,,,,,7,7,40,30,0,3\r\n");
  EXPECT_EQ(profiling::text_of(table),
            "expert  rows of A  rows of B  SNR of A               SNR of B\n"
            "     0          7          7  40.00 dB  30.00 dB (3 left out)\n");
}

TEST(DifferenceDocument, SaysWhatDiffersTheTimesAndTheVerdict) {
  const RecordedRun a = sweep_run({40}, 1000);
  const RecordedRun b = sweep_run({30}, 2000);
  const profiling::RunComparison comparison =
      profiling::compare_runs({&a}, {&b}, engine::Product::Fprop);
  const std::string text =
      profiling::text_of(profiling::difference_document(comparison, other_seed()));
  EXPECT_THAT(text, HasSubstr("Settings that differ:"));
  EXPECT_THAT(text, HasSubstr("seed     1  2  requested"));
  // Three decimals: a step that is 0.4 % slower does not read as 1.00.
  EXPECT_THAT(text, HasSubstr("2.000"));
  EXPECT_THAT(text, HasSubstr("verdict     B is ambiguous: 1 and 1 samples are too few"));
  EXPECT_THAT(text, testing::Not(HasSubstr("A / A")));  // measured without blocks
}

}  // namespace
